ALTER TABLE "usage" ALTER COLUMN "operation" DROP NOT NULL;--> statement-breakpoint
ALTER TABLE "usage" ALTER COLUMN "model" DROP NOT NULL;--> statement-breakpoint
ALTER TABLE "usage" ALTER COLUMN "prompt_tokens" DROP NOT NULL;--> statement-breakpoint
ALTER TABLE "usage" ALTER COLUMN "cached_tokens" DROP NOT NULL;--> statement-breakpoint
ALTER TABLE "usage" ALTER COLUMN "completion_tokens" DROP NOT NULL;--> statement-breakpoint
ALTER TABLE "usage" ALTER COLUMN "reasoning_tokens" DROP NOT NULL;--> statement-breakpoint
ALTER TABLE "usage" ALTER COLUMN "attempts" DROP NOT NULL;--> statement-breakpoint
ALTER TABLE "usage" ALTER COLUMN "fallback" DROP NOT NULL;--> statement-breakpoint
ALTER TABLE "usage" ALTER COLUMN "status" DROP NOT NULL;--> statement-breakpoint
ALTER TABLE "usage" ALTER COLUMN "estimated" DROP NOT NULL;--> statement-breakpoint
ALTER TABLE "usage_daily" ALTER COLUMN "operation" DROP NOT NULL;--> statement-breakpoint
ALTER TABLE "usage_daily" ALTER COLUMN "model" DROP NOT NULL;--> statement-breakpoint
ALTER TABLE "usage_daily_routes" ALTER COLUMN "operation" DROP NOT NULL;--> statement-breakpoint
ALTER TABLE "usage_daily_routes" ALTER COLUMN "model" DROP NOT NULL;--> statement-breakpoint
ALTER TABLE "credit_codes" ADD COLUMN "lots" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "credit_codes" ADD CONSTRAINT "credit_codes_lots" CHECK ("credit_codes"."lots" >= 0);