CREATE TABLE "credit_codes" (
	"account_id" uuid PRIMARY KEY NOT NULL,
	"code_hash" text NOT NULL,
	"expires_at" timestamp with time zone NOT NULL,
	CONSTRAINT "credit_codes_code_hash_unique" UNIQUE("code_hash")
);
--> statement-breakpoint
CREATE TABLE "credit_issuances" (
	"id" text PRIMARY KEY NOT NULL,
	"account_id" uuid NOT NULL,
	"key_id" text NOT NULL,
	"count" integer NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "credit_issuances_count" CHECK ("credit_issuances"."count" between 0 and 50)
);
--> statement-breakpoint
CREATE TABLE "credit_keys" (
	"key_id" text PRIMARY KEY NOT NULL,
	"issued" bigint DEFAULT 0 NOT NULL,
	"spent" bigint DEFAULT 0 NOT NULL,
	"stopped_at" timestamp with time zone,
	CONSTRAINT "credit_keys_spent" CHECK ("credit_keys"."spent" between 0 and "credit_keys"."issued")
);
--> statement-breakpoint
CREATE TABLE "spent_credits" (
	"key_id" text NOT NULL,
	"nonce" "bytea" NOT NULL,
	CONSTRAINT "spent_credits_key_id_nonce_pk" PRIMARY KEY("key_id","nonce")
);
--> statement-breakpoint
CREATE TABLE "wallets" (
	"account_id" uuid PRIMARY KEY NOT NULL,
	"key_id" uuid NOT NULL,
	"key_hash" text NOT NULL,
	"close_hash" text NOT NULL,
	"deposit_digest" text NOT NULL,
	"closed_by" text,
	CONSTRAINT "wallets_key_hash_unique" UNIQUE("key_hash"),
	CONSTRAINT "wallets_close_hash_unique" UNIQUE("close_hash")
);
--> statement-breakpoint
ALTER TABLE "credit_codes" ADD CONSTRAINT "credit_codes_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."accounts"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "credit_issuances" ADD CONSTRAINT "credit_issuances_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."accounts"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "wallets" ADD CONSTRAINT "wallets_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."accounts"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "credit_issuances_account_idx" ON "credit_issuances" USING btree ("account_id","created_at");--> statement-breakpoint
CREATE INDEX "credit_issuances_time_idx" ON "credit_issuances" USING btree ("created_at");