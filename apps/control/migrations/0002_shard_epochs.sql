CREATE TABLE "shard_clients" (
	"shard" integer NOT NULL,
	"client" text NOT NULL,
	"seen_at" timestamp with time zone NOT NULL,
	CONSTRAINT "shard_clients_shard_client_pk" PRIMARY KEY("shard","client")
);
--> statement-breakpoint
CREATE TABLE "shard_epochs" (
	"shard" integer PRIMARY KEY NOT NULL,
	"epoch" bigint NOT NULL
);
