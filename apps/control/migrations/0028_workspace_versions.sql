ALTER TABLE "workspaces" ADD COLUMN "version" bigint DEFAULT 1 NOT NULL;--> statement-breakpoint
ALTER TABLE "workspaces" ADD COLUMN "projected_version" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
CREATE INDEX "workspaces_unprojected_idx" ON "workspaces" USING btree ("id") WHERE "workspaces"."projected_version" < "workspaces"."version";--> statement-breakpoint
UPDATE "api_keys" SET "projected_generation" = 0;