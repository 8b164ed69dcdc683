CREATE TABLE "plane_minutes" (
	"minute" integer PRIMARY KEY NOT NULL,
	"control" boolean NOT NULL,
	"broker" boolean NOT NULL
);
