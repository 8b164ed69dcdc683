CREATE TABLE "connect_apps" (
	"id" uuid PRIMARY KEY NOT NULL,
	"account_id" uuid NOT NULL,
	"name" text NOT NULL,
	"homepage" text NOT NULL,
	"type" text NOT NULL,
	"redirect_uris" jsonb NOT NULL,
	"post_logout_redirect_uris" jsonb NOT NULL,
	"scopes" jsonb NOT NULL,
	"secret_hash" text,
	"secret_created_at" timestamp with time zone,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"disabled_at" timestamp with time zone
);
--> statement-breakpoint
CREATE TABLE "connect_artifacts" (
	"id" text PRIMARY KEY NOT NULL,
	"kind" text NOT NULL,
	"grant_id" uuid,
	"account_id" uuid,
	"payload" text NOT NULL,
	"expires_at" timestamp with time zone NOT NULL,
	"consumed_at" timestamp with time zone
);
--> statement-breakpoint
CREATE TABLE "connect_grants" (
	"id" uuid PRIMARY KEY NOT NULL,
	"app_id" uuid NOT NULL,
	"account_id" uuid NOT NULL,
	"key_id" uuid NOT NULL,
	"scopes" jsonb NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"expires_at" timestamp with time zone NOT NULL,
	CONSTRAINT "connect_grants_key_id_unique" UNIQUE("key_id")
);
--> statement-breakpoint
CREATE TABLE "connect_keys" (
	"id" text PRIMARY KEY NOT NULL,
	"kind" text NOT NULL,
	"sealed" text NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "connect_subjects" (
	"app_id" uuid NOT NULL,
	"account_id" uuid NOT NULL,
	"subject" text NOT NULL,
	CONSTRAINT "connect_subjects_app_id_account_id_pk" PRIMARY KEY("app_id","account_id"),
	CONSTRAINT "connect_subjects_subject_unique" UNIQUE("subject")
);
--> statement-breakpoint
ALTER TABLE "connect_apps" ADD CONSTRAINT "connect_apps_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."accounts"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "connect_grants" ADD CONSTRAINT "connect_grants_app_id_connect_apps_id_fk" FOREIGN KEY ("app_id") REFERENCES "public"."connect_apps"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "connect_grants" ADD CONSTRAINT "connect_grants_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."accounts"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "connect_grants" ADD CONSTRAINT "connect_grants_key_id_api_keys_id_fk" FOREIGN KEY ("key_id") REFERENCES "public"."api_keys"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "connect_subjects" ADD CONSTRAINT "connect_subjects_app_id_connect_apps_id_fk" FOREIGN KEY ("app_id") REFERENCES "public"."connect_apps"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "connect_subjects" ADD CONSTRAINT "connect_subjects_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."accounts"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "connect_apps_account_idx" ON "connect_apps" USING btree ("account_id");--> statement-breakpoint
CREATE INDEX "connect_artifacts_grant_idx" ON "connect_artifacts" USING btree ("grant_id");--> statement-breakpoint
CREATE INDEX "connect_artifacts_expires_idx" ON "connect_artifacts" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "connect_grants_account_idx" ON "connect_grants" USING btree ("account_id");--> statement-breakpoint
CREATE INDEX "connect_grants_app_idx" ON "connect_grants" USING btree ("app_id");