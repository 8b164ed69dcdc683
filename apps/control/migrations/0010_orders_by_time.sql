DROP INDEX "orders_account_idx";--> statement-breakpoint
CREATE INDEX "orders_time_idx" ON "orders" USING btree ("created_at","id") WHERE "orders"."wallet_key_hash" is null or "orders"."payment" is not null or "orders"."flag" is not null;--> statement-breakpoint
CREATE INDEX "orders_account_idx" ON "orders" USING btree ("account_id","created_at","id");