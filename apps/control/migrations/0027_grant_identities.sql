CREATE TABLE "grant_identities" (
	"month" text NOT NULL,
	"hash" text NOT NULL,
	CONSTRAINT "grant_identities_month_hash_pk" PRIMARY KEY("month","hash")
);
--> statement-breakpoint
CREATE TABLE "grant_keys" (
	"month" text PRIMARY KEY NOT NULL,
	"key" text NOT NULL
);
--> statement-breakpoint
ALTER TABLE "monthly_grants" ADD COLUMN "refused" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "grant_identities" ADD CONSTRAINT "grant_identities_month_grant_keys_month_fk" FOREIGN KEY ("month") REFERENCES "public"."grant_keys"("month") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "monthly_grants_refused_idx" ON "monthly_grants" USING btree ("month") WHERE "monthly_grants"."refused";