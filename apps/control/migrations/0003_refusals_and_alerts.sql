CREATE TABLE "refusals" (
	"account_id" uuid NOT NULL,
	"workspace_id" uuid NOT NULL,
	"hour" timestamp with time zone NOT NULL,
	"key_id" uuid NOT NULL,
	"kind" text NOT NULL,
	"epoch" bigint NOT NULL,
	"count" bigint NOT NULL,
	CONSTRAINT "refusals_account_id_workspace_id_hour_key_id_kind_epoch_pk" PRIMARY KEY("account_id","workspace_id","hour","key_id","kind","epoch")
);
--> statement-breakpoint
ALTER TABLE "budgets" ADD COLUMN "is_default" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "usage" ADD COLUMN "provider_status" text;--> statement-breakpoint
ALTER TABLE "workspaces" ADD COLUMN "alert_percents" integer[] DEFAULT '{50,80,100}' NOT NULL;--> statement-breakpoint
ALTER TABLE "workspaces" ADD COLUMN "member_budget_nusd" bigint;--> statement-breakpoint
ALTER TABLE "workspace_webhooks" ADD COLUMN "format" text DEFAULT 'json' NOT NULL;--> statement-breakpoint
CREATE INDEX "refusals_hour_idx" ON "refusals" USING btree ("hour");