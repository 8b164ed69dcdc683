-- The account of an order for a wallet exists only once the order is paid. Receipts and the ledger still refer to accounts.
ALTER TABLE "orders" DROP CONSTRAINT "orders_account_id_accounts_id_fk";
--> statement-breakpoint
ALTER TABLE "wallets" ALTER COLUMN "deposit_digest" DROP NOT NULL;--> statement-breakpoint
ALTER TABLE "orders" ADD COLUMN "wallet_key_hash" text;--> statement-breakpoint
ALTER TABLE "orders" ADD COLUMN "wallet_close_hash" text;--> statement-breakpoint
ALTER TABLE "orders" ADD COLUMN "pay_to" jsonb;--> statement-breakpoint
CREATE UNIQUE INDEX "orders_wallet_key_idx" ON "orders" USING btree ("wallet_key_hash") WHERE "orders"."wallet_key_hash" is not null;--> statement-breakpoint
CREATE UNIQUE INDEX "orders_wallet_close_idx" ON "orders" USING btree ("wallet_close_hash") WHERE "orders"."wallet_close_hash" is not null;