CREATE TABLE "usage_daily_first_token" (
	"account_id" uuid NOT NULL,
	"day" date NOT NULL,
	"workspace_id" uuid NOT NULL,
	"class" smallint NOT NULL,
	"answers" bigint NOT NULL,
	CONSTRAINT "usage_daily_first_token_account_id_day_workspace_id_class_pk" PRIMARY KEY("account_id","day","workspace_id","class")
);
