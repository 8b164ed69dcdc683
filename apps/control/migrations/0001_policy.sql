ALTER TABLE "api_keys" ADD COLUMN "locked_fields" text[] DEFAULT '{}' NOT NULL;--> statement-breakpoint
ALTER TABLE "workspaces" ADD COLUMN "policy_models" text[];--> statement-breakpoint
ALTER TABLE "workspaces" ADD COLUMN "policy_key_limit_nusd" bigint;--> statement-breakpoint
ALTER TABLE "workspaces" ADD COLUMN "policy_key_days" integer;--> statement-breakpoint
ALTER TABLE "workspaces" ADD COLUMN "policy_compatible" boolean DEFAULT true NOT NULL;