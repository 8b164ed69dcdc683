ALTER TABLE "workspaces" ADD COLUMN "tickets_since" bigint DEFAULT 1 NOT NULL;--> statement-breakpoint
UPDATE "workspaces" SET "tickets_since" = "version";
