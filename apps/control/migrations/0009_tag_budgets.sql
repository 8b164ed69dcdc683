CREATE TABLE "tag_months" (
	"account_id" uuid NOT NULL,
	"tag_id" uuid NOT NULL,
	"month" text NOT NULL,
	"spent_nusd" bigint NOT NULL,
	CONSTRAINT "tag_months_account_id_tag_id_month_pk" PRIMARY KEY("account_id","tag_id","month")
);
--> statement-breakpoint
ALTER TABLE "budgets" DROP CONSTRAINT "budgets_scope";--> statement-breakpoint
ALTER TABLE "budgets" DROP CONSTRAINT "budgets_one_scope";--> statement-breakpoint
ALTER TABLE "api_keys" ADD COLUMN "untagged_at" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "budgets" ADD COLUMN "tag_id" uuid;--> statement-breakpoint
ALTER TABLE "budgets" ADD COLUMN "tag" text;--> statement-breakpoint
ALTER TABLE "tag_months" ADD CONSTRAINT "tag_months_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."accounts"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "budgets" ADD CONSTRAINT "budgets_scope" UNIQUE NULLS NOT DISTINCT("workspace_id","member_id","key_id","tag_id");--> statement-breakpoint
ALTER TABLE "budgets" ADD CONSTRAINT "budgets_one_scope" CHECK (num_nonnulls("budgets"."member_id", "budgets"."key_id", "budgets"."tag_id") <= 1);