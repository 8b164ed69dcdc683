CREATE TABLE "monthly_grants" (
	"account_id" uuid NOT NULL,
	"month" text NOT NULL,
	"amount_nusd" bigint NOT NULL,
	"spent_nusd" bigint DEFAULT 0 NOT NULL,
	"expired_nusd" bigint DEFAULT 0 NOT NULL,
	CONSTRAINT "monthly_grants_account_id_month_pk" PRIMARY KEY("account_id","month"),
	CONSTRAINT "monthly_grants_parts" CHECK ("monthly_grants"."spent_nusd" >= 0 and "monthly_grants"."expired_nusd" >= 0 and "monthly_grants"."spent_nusd" + "monthly_grants"."expired_nusd" <= "monthly_grants"."amount_nusd")
);
--> statement-breakpoint
ALTER TABLE "accounts" ADD COLUMN "monthly_grant_nusd" bigint;--> statement-breakpoint
ALTER TABLE "accounts" ADD COLUMN "granted_month" text;--> statement-breakpoint
ALTER TABLE "monthly_grants" ADD CONSTRAINT "monthly_grants_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."accounts"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "monthly_grants_left_idx" ON "monthly_grants" USING btree ("account_id","month") WHERE "monthly_grants"."amount_nusd" > "monthly_grants"."spent_nusd" + "monthly_grants"."expired_nusd";