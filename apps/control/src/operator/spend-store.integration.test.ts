import { randomUUID } from 'node:crypto';
import { beforeAll, expect, it } from 'vitest';
import { explained } from '../testing/explained.integration.ts';
import { openTestDatabase } from '../testing/test-database.integration.ts';
import { findAccount } from './account-store.ts';
import { readSpend } from './spend-store.ts';

const { pool } = await openTestDatabase();
const days = { from: 20_000, to: 20_030 };
const page = { limit: 10, cursor: undefined };

// As many rows as make the planner choose: of 1,000 keys of 200 accounts on 40 days.
beforeAll(async () => {
  await pool.query(`
    with owners as (
      insert into accounts (id, name, wallet_id) select gen_random_uuid(), 'x', n::text from generate_series(1, 200) as n returning id
    ), teams as (
      insert into workspaces (id, account_id, name, preferences) select id, id, 'x', '{}' from owners returning id
    ), keys as (
      insert into api_keys (id, account_id, workspace_id, kind, name, hash, preview, created_by)
      select gen_random_uuid(), id, id, 'inference', 'x', gen_random_uuid()::text, 'x', id from teams, generate_series(1, 5)
      returning id, account_id
    )
    insert into usage_daily_keys (account_id, day, workspace_id, key_id, requests, failed, cancelled, estimated, prompt_tokens,
      cached_tokens, completion_tokens, reasoning_tokens, cost_nusd)
    select account_id, '1970-01-01'::date + ${days.from} + n, account_id, id, 1, 0, 0, 0, 1, 0, 1, 0, 1 from keys, generate_series(-5, 34) as n`);
  await pool.query('analyze usage_daily_keys, api_keys');
});

it('what all people spent in a month is found by the days, and sums keys before it joins them', async () => {
  const plan = await explained(pool, (database) => readSpend(database, { days }, page));
  expect(plan).toMatch(/usage_daily_keys_day_idx on usage_daily_keys r\n.*Index Cond: \(\(day >= /);
  expect(plan.indexOf('Group Key: (date_trunc')).toBeGreaterThan(-1);
});

it('what one account used or paid is found by its keys', async () => {
  const question = { days, account_id: randomUUID() };
  const plan = await explained(pool, (database) => readSpend(database, question, page));
  expect(plan).toMatch(
    /usage_daily_keys_key_day_idx on usage_daily_keys r\n.*\(key_id = k_1.id\) AND \(day >= .* AND \(day < /,
  );
});

it('what an account used this month, and its last day, are found by its keys', async () => {
  const reading = { now: () => days.to * 86_400_000, defaultGrantNusd: undefined };
  const plan = await explained(pool, (database) => findAccount(database, randomUUID(), reading));
  expect(plan).toContain('Index Scan using api_keys_creator_idx on api_keys k');
  expect(plan).toMatch(/usage_daily_keys_key_day_idx on usage_daily_keys r\n.*\(key_id = k.id\) AND \(day >= /);
  expect(plan).toMatch(/Index Only Scan Backward using usage_daily_keys_key_day_idx/);
});
