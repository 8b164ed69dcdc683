ALTER TABLE "rejected_settlements" ADD COLUMN "mac" text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE "rejected_settlements" ADD COLUMN "hold_id" text;