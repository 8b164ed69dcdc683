CREATE TABLE "acts" (
	"id" uuid PRIMARY KEY NOT NULL,
	"at" timestamp with time zone DEFAULT date_trunc('milliseconds', now()) NOT NULL,
	"actor" text NOT NULL,
	"actor_account_id" uuid,
	"act" text NOT NULL,
	"account_id" uuid,
	"workspace_id" uuid,
	"details" jsonb NOT NULL
);
--> statement-breakpoint
CREATE TABLE "deployment" (
	"is_only" boolean PRIMARY KEY DEFAULT true NOT NULL,
	"signed_up_openly" boolean NOT NULL
);
--> statement-breakpoint
CREATE TABLE "operators" (
	"user_id" text PRIMARY KEY NOT NULL,
	"granted_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "sign_up_invitations" (
	"id" uuid PRIMARY KEY NOT NULL,
	"email" text NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"expires_at" timestamp with time zone NOT NULL,
	CONSTRAINT "sign_up_invitations_email_unique" UNIQUE("email")
);
--> statement-breakpoint
ALTER TABLE "accounts" ADD COLUMN "disabled_at" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "auth_session" ADD COLUMN "factor_at" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "operators" ADD CONSTRAINT "operators_user_id_auth_user_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."auth_user"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "acts_at_idx" ON "acts" USING btree ("at","id");--> statement-breakpoint
CREATE INDEX "acts_account_idx" ON "acts" USING btree ("account_id","at","id");--> statement-breakpoint
CREATE INDEX "acts_workspace_idx" ON "acts" USING btree ("workspace_id","at","id");--> statement-breakpoint
CREATE TRIGGER acts_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON acts
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_billing_change();
--> statement-breakpoint
-- A deployment that already has users keeps sign-up as it was.
INSERT INTO deployment (signed_up_openly) SELECT exists(SELECT FROM auth_user);
