ALTER TABLE "accounts" ADD COLUMN "deleted_at" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "accounts" ADD COLUMN "closed_at" timestamp with time zone;--> statement-breakpoint
CREATE INDEX "accounts_closing_idx" ON "accounts" USING btree ("id") WHERE "accounts"."deleted_at" is not null and "accounts"."closed_at" is null;