CREATE TABLE "openid_logouts" (
	"id" text PRIMARY KEY NOT NULL,
	"subject" text,
	"sid" text,
	"at" timestamp with time zone NOT NULL,
	"expires_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "scim_group_members" (
	"group_id" uuid NOT NULL,
	"user_id" uuid NOT NULL,
	CONSTRAINT "scim_group_members_group_id_user_id_pk" PRIMARY KEY("group_id","user_id")
);
--> statement-breakpoint
CREATE TABLE "scim_groups" (
	"id" uuid PRIMARY KEY NOT NULL,
	"display_name" text NOT NULL,
	"external_id" text,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "scim_users" (
	"id" uuid PRIMARY KEY NOT NULL,
	"user_name" text NOT NULL,
	"external_id" text,
	"addresses" text[] NOT NULL,
	"attributes" jsonb NOT NULL,
	"active" boolean DEFAULT true NOT NULL,
	"account_id" uuid,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "accounts" ADD COLUMN "openid_groups" text[];--> statement-breakpoint
ALTER TABLE "accounts" ADD COLUMN "openid_groups_at" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "accounts" ADD COLUMN "disabled_by_provider" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "auth_session" ADD COLUMN "openid_sid" text;--> statement-breakpoint
ALTER TABLE "auth_session" ADD COLUMN "openid_at" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "workspace_members" ADD COLUMN "by_group" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "scim_group_members" ADD CONSTRAINT "scim_group_members_group_id_scim_groups_id_fk" FOREIGN KEY ("group_id") REFERENCES "scim_groups"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "scim_group_members" ADD CONSTRAINT "scim_group_members_user_id_scim_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "scim_users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "scim_users" ADD CONSTRAINT "scim_users_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "openid_logouts_subject_idx" ON "openid_logouts" USING btree ("subject");--> statement-breakpoint
CREATE INDEX "openid_logouts_sid_idx" ON "openid_logouts" USING btree ("sid");--> statement-breakpoint
CREATE INDEX "scim_group_members_user_idx" ON "scim_group_members" USING btree ("user_id");--> statement-breakpoint
CREATE UNIQUE INDEX "scim_groups_name_key" ON "scim_groups" USING btree (lower("display_name"));--> statement-breakpoint
CREATE INDEX "scim_groups_external_idx" ON "scim_groups" USING btree ("external_id");--> statement-breakpoint
CREATE INDEX "scim_groups_created_idx" ON "scim_groups" USING btree ("created_at","id");--> statement-breakpoint
CREATE UNIQUE INDEX "scim_users_name_key" ON "scim_users" USING btree (lower("user_name"));--> statement-breakpoint
CREATE UNIQUE INDEX "scim_users_account_key" ON "scim_users" USING btree ("account_id");--> statement-breakpoint
CREATE INDEX "scim_users_external_idx" ON "scim_users" USING btree ("external_id");--> statement-breakpoint
CREATE INDEX "scim_users_addresses_idx" ON "scim_users" USING gin ("addresses");--> statement-breakpoint
CREATE INDEX "scim_users_created_idx" ON "scim_users" USING btree ("created_at","id");--> statement-breakpoint
CREATE INDEX "auth_session_openid_sid_idx" ON "auth_session" USING btree ("openid_sid") WHERE "auth_session"."openid_sid" is not null;