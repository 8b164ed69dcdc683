-- The sums of what was used before they were kept; nothing may be booked meanwhile.
LOCK TABLE usage IN SHARE ROW EXCLUSIVE MODE;
--> statement-breakpoint
-- Rows are changed all day long: with room on their page, a change touches no index.
ALTER TABLE usage_daily SET (fillfactor = 70);
--> statement-breakpoint
INSERT INTO usage_daily (account_id, day, workspace_id, key_id, operation, model, provider, privacy_class, requests, failed, cancelled, estimated, prompt_tokens, cached_tokens, completion_tokens, reasoning_tokens, cost_nusd)
SELECT account_id, (at AT TIME ZONE 'UTC')::date, workspace_id, key_id, operation, model, provider, privacy_class, count(*), count(*) FILTER (WHERE status = 'failed'), count(*) FILTER (WHERE status = 'cancelled'), count(*) FILTER (WHERE estimated), sum(prompt_tokens), sum(cached_tokens), sum(completion_tokens), sum(reasoning_tokens), sum(cost_nusd)
FROM usage GROUP BY account_id, (at AT TIME ZONE 'UTC')::date, workspace_id, key_id, operation, model, provider, privacy_class;
--> statement-breakpoint
ALTER TABLE usage_daily_routes SET (fillfactor = 70);
--> statement-breakpoint
INSERT INTO usage_daily_routes (account_id, day, workspace_id, operation, model, provider, privacy_class, requests, failed, cancelled, estimated, prompt_tokens, cached_tokens, completion_tokens, reasoning_tokens, cost_nusd)
SELECT account_id, (at AT TIME ZONE 'UTC')::date, workspace_id, operation, model, provider, privacy_class, count(*), count(*) FILTER (WHERE status = 'failed'), count(*) FILTER (WHERE status = 'cancelled'), count(*) FILTER (WHERE estimated), sum(prompt_tokens), sum(cached_tokens), sum(completion_tokens), sum(reasoning_tokens), sum(cost_nusd)
FROM usage GROUP BY account_id, (at AT TIME ZONE 'UTC')::date, workspace_id, operation, model, provider, privacy_class;
--> statement-breakpoint
ALTER TABLE usage_daily_keys SET (fillfactor = 70);
--> statement-breakpoint
INSERT INTO usage_daily_keys (account_id, day, workspace_id, key_id, requests, failed, cancelled, estimated, prompt_tokens, cached_tokens, completion_tokens, reasoning_tokens, cost_nusd)
SELECT account_id, (at AT TIME ZONE 'UTC')::date, workspace_id, key_id, count(*), count(*) FILTER (WHERE status = 'failed'), count(*) FILTER (WHERE status = 'cancelled'), count(*) FILTER (WHERE estimated), sum(prompt_tokens), sum(cached_tokens), sum(completion_tokens), sum(reasoning_tokens), sum(cost_nusd)
FROM usage GROUP BY account_id, (at AT TIME ZONE 'UTC')::date, workspace_id, key_id;
