ALTER TABLE "usage" ADD COLUMN "error" text;--> statement-breakpoint
CREATE INDEX "usage_provider_idx" ON "usage" USING btree ("account_id","provider","at","id");--> statement-breakpoint
CREATE INDEX "usage_failed_idx" ON "usage" USING btree ("account_id","at","id") WHERE "usage"."status" <> 'completed';