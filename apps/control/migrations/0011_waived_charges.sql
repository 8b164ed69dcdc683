ALTER TABLE "accounts" ADD COLUMN "waived_nusd" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "accounts" ADD COLUMN "waived_hour" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "rejected_settlements" ADD COLUMN "resolved_at" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "rejected_settlements" ADD COLUMN "resolution" text;