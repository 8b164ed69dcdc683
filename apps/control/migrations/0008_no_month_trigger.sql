-- The settler books the months of keys.
DROP TRIGGER "api_keys_book_month" ON "api_keys";--> statement-breakpoint
DROP FUNCTION "book_key_month"();
