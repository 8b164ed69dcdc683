-- Tells the processes that project records that there are some to project, so that they need not ask all the time.
CREATE FUNCTION announce_projection() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NOTIFY sotto_projection;
  RETURN NULL;
END;
$$;
--> statement-breakpoint
CREATE TRIGGER accounts_announce_projection AFTER INSERT OR UPDATE ON accounts
  FOR EACH ROW WHEN (NEW.projected_version < NEW.version) EXECUTE FUNCTION announce_projection();
--> statement-breakpoint
CREATE TRIGGER workspaces_announce_projection AFTER INSERT OR UPDATE ON workspaces
  FOR EACH ROW WHEN (NEW.projected_version < NEW.version) EXECUTE FUNCTION announce_projection();
--> statement-breakpoint
CREATE TRIGGER api_keys_announce_projection AFTER INSERT OR UPDATE ON api_keys
  FOR EACH ROW WHEN (NEW.projected_generation < NEW.generation) EXECUTE FUNCTION announce_projection();
--> statement-breakpoint
CREATE TRIGGER budgets_announce_projection AFTER INSERT OR UPDATE ON budgets
  FOR EACH ROW WHEN (NEW.projected_version < NEW.version) EXECUTE FUNCTION announce_projection();
