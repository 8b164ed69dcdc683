ALTER TABLE "billing_settings" ADD COLUMN "receipt_details" text;--> statement-breakpoint
ALTER TABLE "receipts" ADD COLUMN "account_details" text;