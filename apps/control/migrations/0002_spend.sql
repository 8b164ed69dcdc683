ALTER TABLE "api_keys" ADD COLUMN "tag" text;--> statement-breakpoint
CREATE INDEX "usage_daily_keys_key_day_idx" ON "usage_daily_keys" USING btree ("account_id","key_id","day");--> statement-breakpoint
CREATE INDEX "usage_daily_keys_day_idx" ON "usage_daily_keys" USING btree ("day");--> statement-breakpoint
DROP INDEX "usage_daily_keys_key_idx";--> statement-breakpoint
CREATE INDEX "acts_actor_idx" ON "acts" USING btree ("actor_account_id","at","id");
