CREATE TABLE "billing_settings" (
	"account_id" uuid PRIMARY KEY NOT NULL,
	"low_balance_nusd" bigint,
	"low_since" timestamp (3) with time zone,
	"auto_enabled" boolean DEFAULT false NOT NULL,
	"auto_threshold_nusd" bigint,
	"auto_package_id" text,
	"auto_monthly_limit_nusd" bigint,
	"auto_paused" text,
	"auto_outcome" text,
	"auto_outcome_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "order_events" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "order_events_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"order_id" uuid NOT NULL,
	"at" timestamp (3) with time zone NOT NULL,
	"source" text NOT NULL,
	"event" text NOT NULL,
	"from_status" text NOT NULL,
	"to_status" text NOT NULL,
	"flag" text
);
--> statement-breakpoint
CREATE TABLE "orders" (
	"id" uuid PRIMARY KEY NOT NULL,
	"account_id" uuid NOT NULL,
	"status" text NOT NULL,
	"rail" text NOT NULL,
	"package_id" text NOT NULL,
	"amount_nusd" bigint NOT NULL,
	"fee_nusd" bigint NOT NULL,
	"refunded_nusd" bigint DEFAULT 0 NOT NULL,
	"disputed_nusd" bigint DEFAULT 0 NOT NULL,
	"automatic" boolean NOT NULL,
	"save_card" boolean NOT NULL,
	"rail_reference" text,
	"card" text,
	"checkout_url" text,
	"payment" text,
	"failure" text,
	"flag" text,
	"explanation" text,
	"created_at" timestamp (3) with time zone NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	"paid_at" timestamp (3) with time zone,
	"next_check_at" timestamp (3) with time zone,
	CONSTRAINT "orders_amounts" CHECK ("orders"."amount_nusd" > 0 and "orders"."fee_nusd" >= 0),
	CONSTRAINT "orders_returns" CHECK ("orders"."refunded_nusd" >= 0 and "orders"."disputed_nusd" >= 0)
);
--> statement-breakpoint
CREATE TABLE "rail_customers" (
	"account_id" uuid NOT NULL,
	"rail" text NOT NULL,
	"customer" text NOT NULL,
	CONSTRAINT "rail_customers_account_id_rail_pk" PRIMARY KEY("account_id","rail")
);
--> statement-breakpoint
CREATE TABLE "receipt_counters" (
	"year" integer PRIMARY KEY NOT NULL,
	"last" integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE "receipts" (
	"number" text PRIMARY KEY NOT NULL,
	"kind" text NOT NULL,
	"order_id" uuid NOT NULL,
	"account_id" uuid NOT NULL,
	"issued_at" timestamp (3) with time zone NOT NULL,
	"rail" text NOT NULL,
	"amount_nusd" bigint NOT NULL,
	"fee_nusd" bigint NOT NULL,
	"corrects" text,
	"account_name" text NOT NULL,
	"account_email" text,
	"seller" jsonb NOT NULL
);
--> statement-breakpoint
ALTER TABLE "billing_settings" ADD CONSTRAINT "billing_settings_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."accounts"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "order_events" ADD CONSTRAINT "order_events_order_id_orders_id_fk" FOREIGN KEY ("order_id") REFERENCES "public"."orders"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "orders" ADD CONSTRAINT "orders_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."accounts"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "rail_customers" ADD CONSTRAINT "rail_customers_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."accounts"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "receipts" ADD CONSTRAINT "receipts_order_id_orders_id_fk" FOREIGN KEY ("order_id") REFERENCES "public"."orders"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "receipts" ADD CONSTRAINT "receipts_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."accounts"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "order_events_order_idx" ON "order_events" USING btree ("order_id");--> statement-breakpoint
CREATE INDEX "orders_account_idx" ON "orders" USING btree ("account_id","created_at" DESC NULLS LAST,"id" DESC NULLS LAST);--> statement-breakpoint
CREATE INDEX "orders_next_check_idx" ON "orders" USING btree ("next_check_at") WHERE "orders"."next_check_at" is not null;--> statement-breakpoint
CREATE UNIQUE INDEX "orders_reference_idx" ON "orders" USING btree ("rail","rail_reference");--> statement-breakpoint
CREATE INDEX "orders_payment_idx" ON "orders" USING btree ("rail","payment");--> statement-breakpoint
CREATE UNIQUE INDEX "orders_one_automatic_idx" ON "orders" USING btree ("account_id") WHERE "orders"."automatic" and "orders"."status" in ('created', 'pending');--> statement-breakpoint
CREATE INDEX "receipts_account_idx" ON "receipts" USING btree ("account_id","issued_at" DESC NULLS LAST,"number" DESC NULLS LAST);--> statement-breakpoint
CREATE UNIQUE INDEX "receipts_one_an_order_idx" ON "receipts" USING btree ("order_id") WHERE "receipts"."kind" = 'receipt';