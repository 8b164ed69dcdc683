-- Receipts and the history of orders are never changed: a wrong receipt is mended by a credit note.
CREATE FUNCTION refuse_billing_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% is append-only', TG_TABLE_NAME;
END;
$$;
--> statement-breakpoint
CREATE TRIGGER receipts_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON receipts
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_billing_change();
--> statement-breakpoint
CREATE TRIGGER order_events_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON order_events
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_billing_change();
--> statement-breakpoint
-- The counter only ever moves by one: a gap cannot be made by hand either.
CREATE FUNCTION refuse_counter_jump() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' OR TG_OP = 'TRUNCATE' THEN
    RAISE EXCEPTION 'receipt numbers are never given again';
  ELSIF TG_OP = 'INSERT' AND NEW.last <> 1 THEN
    RAISE EXCEPTION 'receipt numbers begin at 1';
  ELSIF TG_OP = 'UPDATE' AND (NEW.last <> OLD.last + 1 OR NEW.year <> OLD.year) THEN
    RAISE EXCEPTION 'receipt numbers have no gaps';
  END IF;
  RETURN NEW;
END;
$$;
--> statement-breakpoint
CREATE TRIGGER receipt_counters_step BEFORE INSERT OR UPDATE OR DELETE ON receipt_counters
  FOR EACH ROW EXECUTE FUNCTION refuse_counter_jump();
--> statement-breakpoint
CREATE TRIGGER receipt_counters_kept BEFORE TRUNCATE ON receipt_counters
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_counter_jump();
--> statement-breakpoint
-- What was ordered is fixed when it is ordered.
CREATE FUNCTION refuse_order_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF (NEW.id, NEW.account_id, NEW.rail, NEW.package_id, NEW.amount_nusd, NEW.fee_nusd, NEW.created_at)
    IS DISTINCT FROM (OLD.id, OLD.account_id, OLD.rail, OLD.package_id, OLD.amount_nusd, OLD.fee_nusd, OLD.created_at) THEN
    RAISE EXCEPTION 'what was ordered does not change';
  END IF;
  IF OLD.status IN ('paid', 'refunded') AND NEW.status NOT IN ('paid', 'refunded') THEN
    RAISE EXCEPTION 'a paid order stays paid';
  END IF;
  RETURN NEW;
END;
$$;
--> statement-breakpoint
CREATE TRIGGER orders_fixed BEFORE UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION refuse_order_change();
