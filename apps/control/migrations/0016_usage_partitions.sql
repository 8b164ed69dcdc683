-- `usage` becomes partitioned by the UTC month of `at`. The table itself becomes the partition of everything before the
-- month after next. `proveUsageBound` has proved that it has no later row, so that no row is read here.
ALTER TABLE "deployment" ADD COLUMN "usage_kept_from" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "usage" RENAME TO "usage_first";--> statement-breakpoint
ALTER INDEX "usage_pkey" RENAME TO "usage_first_pkey";--> statement-breakpoint
ALTER INDEX "usage_account_idx" RENAME TO "usage_first_account_idx";--> statement-breakpoint
ALTER INDEX "usage_model_idx" RENAME TO "usage_first_model_idx";--> statement-breakpoint
ALTER INDEX "usage_key_idx" RENAME TO "usage_first_key_idx";--> statement-breakpoint
ALTER INDEX "usage_key_model_idx" RENAME TO "usage_first_key_model_idx";--> statement-breakpoint
ALTER INDEX "usage_workspace_idx" RENAME TO "usage_first_workspace_idx";--> statement-breakpoint
ALTER INDEX "usage_workspace_model_idx" RENAME TO "usage_first_workspace_model_idx";--> statement-breakpoint
CREATE TABLE "usage" (LIKE "usage_first") PARTITION BY RANGE ("at");--> statement-breakpoint
CREATE INDEX "usage_account_idx" ON "usage" ("account_id","at","id");--> statement-breakpoint
CREATE INDEX "usage_model_idx" ON "usage" ("account_id","model","at","id");--> statement-breakpoint
CREATE INDEX "usage_key_idx" ON "usage" ("account_id","key_id","at","id");--> statement-breakpoint
CREATE INDEX "usage_key_model_idx" ON "usage" ("account_id","key_id","model","at","id");--> statement-breakpoint
CREATE INDEX "usage_workspace_idx" ON "usage" ("account_id","workspace_id","at","id");--> statement-breakpoint
CREATE INDEX "usage_workspace_model_idx" ON "usage" ("account_id","workspace_id","model","at","id");--> statement-breakpoint
-- No booking fails because a month has no partition: those rows go here.
CREATE TABLE "usage_other" PARTITION OF "usage" DEFAULT;--> statement-breakpoint
DO $$
DECLARE
  ends text := to_char(date_trunc('month', now() AT TIME ZONE 'UTC') + interval '2 months', 'YYYY-MM-DD"T00:00:00Z"');
BEGIN
  IF NOT EXISTS (
    SELECT FROM pg_constraint
    WHERE conrelid = 'usage_first'::regclass AND conname = 'usage_first_bound' AND convalidated
  ) THEN
    WITH later AS (DELETE FROM usage_first WHERE at >= ends::timestamptz RETURNING *)
      INSERT INTO usage_other SELECT * FROM later;
  END IF;
  EXECUTE format('ALTER TABLE usage ATTACH PARTITION usage_first FOR VALUES FROM (MINVALUE) TO (%L)', ends);
  ALTER TABLE usage_first DROP CONSTRAINT IF EXISTS usage_first_bound;
END $$;
