CREATE TABLE "usage_daily" (
	"account_id" uuid NOT NULL,
	"day" date NOT NULL,
	"workspace_id" uuid NOT NULL,
	"key_id" uuid NOT NULL,
	"operation" text NOT NULL,
	"model" text NOT NULL,
	"provider" text,
	"privacy_class" text,
	"requests" bigint NOT NULL,
	"failed" bigint NOT NULL,
	"cancelled" bigint NOT NULL,
	"estimated" bigint NOT NULL,
	"prompt_tokens" bigint NOT NULL,
	"cached_tokens" bigint NOT NULL,
	"completion_tokens" bigint NOT NULL,
	"reasoning_tokens" bigint NOT NULL,
	"cost_nusd" bigint NOT NULL,
	CONSTRAINT "usage_daily_row" UNIQUE NULLS NOT DISTINCT("account_id","day","workspace_id","key_id","operation","model","provider","privacy_class")
);
--> statement-breakpoint
CREATE TABLE "usage_daily_keys" (
	"account_id" uuid NOT NULL,
	"day" date NOT NULL,
	"workspace_id" uuid NOT NULL,
	"key_id" uuid NOT NULL,
	"requests" bigint NOT NULL,
	"failed" bigint NOT NULL,
	"cancelled" bigint NOT NULL,
	"estimated" bigint NOT NULL,
	"prompt_tokens" bigint NOT NULL,
	"cached_tokens" bigint NOT NULL,
	"completion_tokens" bigint NOT NULL,
	"reasoning_tokens" bigint NOT NULL,
	"cost_nusd" bigint NOT NULL,
	CONSTRAINT "usage_daily_keys_row" UNIQUE("account_id","day","workspace_id","key_id")
);
--> statement-breakpoint
CREATE TABLE "usage_daily_routes" (
	"account_id" uuid NOT NULL,
	"day" date NOT NULL,
	"workspace_id" uuid NOT NULL,
	"operation" text NOT NULL,
	"model" text NOT NULL,
	"provider" text,
	"privacy_class" text,
	"requests" bigint NOT NULL,
	"failed" bigint NOT NULL,
	"cancelled" bigint NOT NULL,
	"estimated" bigint NOT NULL,
	"prompt_tokens" bigint NOT NULL,
	"cached_tokens" bigint NOT NULL,
	"completion_tokens" bigint NOT NULL,
	"reasoning_tokens" bigint NOT NULL,
	"cost_nusd" bigint NOT NULL,
	CONSTRAINT "usage_daily_routes_row" UNIQUE NULLS NOT DISTINCT("account_id","day","workspace_id","operation","model","provider","privacy_class")
);
--> statement-breakpoint
DROP INDEX "usage_account_at_idx";--> statement-breakpoint
CREATE INDEX "usage_daily_key_idx" ON "usage_daily" USING btree ("account_id","key_id","day");--> statement-breakpoint
CREATE INDEX "usage_daily_workspace_idx" ON "usage_daily" USING btree ("account_id","workspace_id","day");--> statement-breakpoint
CREATE INDEX "usage_daily_model_idx" ON "usage_daily" USING btree ("account_id","model","day");--> statement-breakpoint
CREATE INDEX "usage_daily_keys_key_idx" ON "usage_daily_keys" USING btree ("account_id","key_id");--> statement-breakpoint
CREATE INDEX "usage_account_idx" ON "usage" USING btree ("account_id","at","id");--> statement-breakpoint
CREATE INDEX "usage_model_idx" ON "usage" USING btree ("account_id","model","at","id");--> statement-breakpoint
CREATE INDEX "usage_key_idx" ON "usage" USING btree ("account_id","key_id","at","id");--> statement-breakpoint
CREATE INDEX "usage_key_model_idx" ON "usage" USING btree ("account_id","key_id","model","at","id");--> statement-breakpoint
CREATE INDEX "usage_workspace_idx" ON "usage" USING btree ("account_id","workspace_id","at","id");--> statement-breakpoint
CREATE INDEX "usage_workspace_model_idx" ON "usage" USING btree ("account_id","workspace_id","model","at","id");