import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { explained } from '../../testing/explained.integration.ts';
import { openTestDatabase } from '../../testing/test-database.integration.ts';
import { listAllOrders, listOrders } from './order-store.ts';

const { pool } = await openTestDatabase();
const newest = { limit: 10, cursor: undefined };

// As many rows as make the planner choose: orders of 1,000 accounts, and as many for wallets that nobody paid for.
beforeAll(async () => {
  await pool.query(`
    insert into orders (id, account_id, status, rail, package_id, amount_nusd, fee_nusd, automatic, save_card, created_at, expires_at, wallet_key_hash)
    select gen_random_uuid(), gen_random_uuid(), 'created', 'test', 'x', 1, 0, false, false, now() - n * interval '1 hour', now(),
      case when n % 2 = 0 then n::text end
    from generate_series(1, 2000) as n`);
  await pool.query('analyze orders');
});

describe('a page of all orders is found by an index in its order', () => {
  it.each([
    ['the newest', {}],
    ['those of a time', { from: new Date('2026-11-01'), to: new Date('2026-12-01') }],
  ])('%s', async (_, time) => {
    const { next_cursor: cursor } = await listAllOrders(pool, { limit: 10, cursor: undefined });
    for (const page of [newest, { limit: 10, cursor: cursor ?? undefined }]) {
      const plan = await explained(pool, (database) => listAllOrders(database, { ...page, ...time }));
      expect(plan).toContain('Index Scan Backward using orders_time_idx on orders o');
      expect(plan).not.toMatch(/Sort|Filter/);
    }
  });
});

it('a page of the orders of an account is found by the account', async () => {
  const plan = await explained(pool, (database) => listOrders(database, randomUUID(), newest));
  expect(plan).toContain('Index Scan Backward using orders_account_idx on orders o');
  expect(plan).not.toContain('Sort');
});
