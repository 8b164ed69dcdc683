ALTER TABLE "auth_user" ADD COLUMN "passkeys_kept_at" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "orders" ADD COLUMN "form_id" text;--> statement-breakpoint
CREATE UNIQUE INDEX "orders_form_idx" ON "orders" USING btree ("account_id","form_id") WHERE "orders"."form_id" is not null;