import { randomUUID } from 'node:crypto';
import { usualMaxima } from '@sotto/contract';
import type { RefusalCount, RefusalCounts } from '@sotto/state';
import { refusalHour, StateUnavailableError } from '@sotto/state';
import { whileHeld } from '@sotto/test-servers';
import type pg from 'pg';
import { expect, it } from 'vitest';
import { createAccount } from '../accounts/ensure-account.ts';
import { inTransaction } from '../database/in-transaction.ts';
import { insertKey, updateKey } from '../keys/key-store.ts';
import { done } from '../testing/outcomes.integration.ts';
import { openTestDatabase } from '../testing/test-database.integration.ts';
import { removeBudget, setBudget } from '../workspaces/budget-store.ts';
import { RefusalBooks } from './refusal-books.ts';
import { bookRefusals, purgeRefusals, readRefusals } from './refusal-store.ts';

const { pool } = await openTestDatabase();
const now = Date.now();
const hour = refusalHour(now);
const hourMs = 3_600_000;

async function newKey() {
  const { accountId, defaultWorkspaceId: workspaceId } = await createAccount(pool, { userId: undefined, name: 'x' });
  const key = { accountId, workspaceId, kind: 'inference', name: 'x', openaiCompatible: true } as const;
  const { id: keyId } = await insertKey(pool, { ...key, creditLimitNusd: undefined });
  const { rows } = await pool.query<{ hash: string }>('select hash from api_keys where id = $1', [keyId]);
  return { accountId, workspaceId, keyId, keyHash: rows[0]?.hash ?? '' };
}
type Key = Awaited<ReturnType<typeof newKey>>;

const counted = ({ keyHash }: Key, count: number, more: Partial<RefusalCount> = {}): RefusalCount => ({
  ...{ hour, epoch: 1, keyHash, kind: 'balance', count },
  ...more,
});
const range = { from: new Date((hour - 5) * hourMs), to: new Date((hour + 1) * hourMs) };
const countsOf = async ({ accountId }: Key): Promise<number[]> =>
  (await readRefusals(pool, { accountId }, range)).data.map(({ count }) => count);

it('a count that is read twice, late or by two controls at once is stored once, and that of another epoch is added', async () => {
  const key = await newKey();
  await Promise.all([
    bookRefusals(pool, [counted(key, 3)], now),
    bookRefusals(pool, [counted(key, 2), counted(key, 3)].slice(1), now),
  ]);
  await bookRefusals(pool, [counted(key, 2)], now);
  expect(await countsOf(key)).toEqual([3]);
  await bookRefusals(pool, [counted(key, 1, { epoch: 2 }), counted(key, 4, { kind: 'requests' })], now);
  expect((await countsOf(key)).toSorted()).toEqual([4, 4]);
});

it('a key that is gone counts nothing, and keeps no other from being counted', async () => {
  const key = await newKey();
  await bookRefusals(pool, [counted({ ...key, keyHash: 'gone' }, 3), counted(key, 1)], now);
  expect(await countsOf(key)).toEqual([1]);
});

/** A key with a budget, which its owner can set again. */
async function limited() {
  const key = await newKey();
  const owner = { accountId: key.accountId, workspaceId: key.workspaceId };
  return {
    ...{ key, owner },
    set: (limitNusd = 10n) =>
      done(setBudget(pool, { ...owner, maxima: usualMaxima }, { limitNusd, keyId: key.keyId }, now)),
    /** Notes that brokers learned the budget at a time, in ms since 1970. */
    projectAt: (at: number) =>
      pool.query('update budgets set projected_version = version, projected_at = $2 where key_id = $1', [
        key.keyId,
        new Date(at),
      ]),
    book: (count: number, readAt = now) => bookRefusals(pool, [counted(key, count, { kind: 'key_budget' })], readAt),
    async alerts() {
      const { rows } = await pool.query<{ percent: number; deliveries: string }>(
        `select a.percent, (select count(*) from alert_deliveries d where d.alert_id = a.id) as deliveries
         from budget_alerts a where a.account_id = $1`,
        [key.accountId],
      );
      return rows;
    },
  };
}

it('two controls that see the first refusal of a month note one alert, and none for a budget that was removed', async () => {
  const { owner, set, projectAt, book, alerts } = await limited();
  const { id } = await set();
  await Promise.all([book(1), book(1), book(2)]);
  await book(5);
  expect(await alerts()).toEqual([{ percent: 0, deliveries: '1' }]);
  await removeBudget(pool, owner, id, now);
  await book(6);
  expect(await alerts()).toEqual([]);
  await set();
  await projectAt(now - 60_000);
  await book(6);
  expect(await alerts()).toEqual([]);
  await book(7);
  expect(await alerts()).toHaveLength(1);
});

/**
 * The shared state counts refusals all the time, and control reads the counts each 10 s. So counts that are read after a change may be
 * by the earlier limit. These interleavings would alert by a refusal of the earlier limit, and then never by one of the new limit:
 *
 * - Refused, set, booked: the booking sees the new limit, which brokers do not know yet.
 * - Refused, set, projected, booked: the count was read soon after the projection.
 * - Refused, read, set, projected, and booked much later, because the process was slow: the time of the read counts.
 * - Refused, and set while it is booked: the booking and the change lock the paying account, so the later one knows of the other.
 */
it('a refusal by the limit that a budget had before it was set again alerts nobody, and the next by its own limit does', async () => {
  const { set, projectAt, book, alerts } = await limited();
  await set();
  await projectAt(now - 60_000);
  await book(90);
  await set(20n);
  // 10 of these are by the earlier limit, too.
  await book(100, now + 3_600_000);
  expect(await alerts()).toEqual([]);
  await projectAt(now);
  await book(101, now - 1_000);
  await book(102, now + 20_000);
  expect(await alerts()).toEqual([]);
  await book(103, now + 30_000);
  expect(await alerts()).toEqual([{ percent: 0, deliveries: '1' }]);
});

it('a refusal that is booked while its budget is set again alerts nobody, and the next by the new limit does', async () => {
  const { key, set, projectAt, book, alerts } = await limited();
  await set();
  await projectAt(now - 60_000);
  const held = { rows: 'select 1 from budgets where key_id = $1 for update', values: [key.keyId], waiting: '' };
  await whileHeld<unknown>(pool, held, [() => book(90), () => set(20n)]);
  expect(await alerts()).toEqual([]);
  await projectAt(now - 60_000);
  await book(91);
  expect(await alerts()).toEqual([{ percent: 0, deliveries: '1' }]);
});

/**
 * The state counts a refusal for a key, not for a tag. So a refusal by the budget of the tag that a key had before could alert by that of its
 * present tag: refused, tagged anew, and read; or read soon after, because the key's record was projected late.
 */
it('a refusal by the budget of a tag alerts by that of the key, unless the key gave up another meanwhile', async () => {
  const { key, owner, alerts } = await limited();
  const tagged = (tag: string) => inTransaction(pool, (client) => updateKey(client, key.keyId, { tag }));
  const untaggedAt = (at: number) =>
    pool.query('update api_keys set untagged_at = $2 where id = $1', [key.keyId, new Date(at)]);
  const set = (tag: string) => done(setBudget(pool, { ...owner, maxima: usualMaxima }, { limitNusd: 10n, tag }, now));
  const book = (count: number, readAt = now) =>
    bookRefusals(pool, [counted(key, count, { kind: 'tag_budget' })], readAt);
  const { id } = await set('Sales');
  await tagged('R&D');
  await book(1);
  expect(await alerts()).toEqual([]);
  await tagged('Sales');
  await book(2, now + 20_000);
  expect(await alerts()).toEqual([]);
  await untaggedAt(now);
  await book(3, now + 29_999);
  expect(await alerts()).toEqual([]);
  await book(4, now + 30_000);
  // To the owner. No member is limited.
  expect(await alerts()).toEqual([{ percent: 0, deliveries: '1' }]);
  expect((await pool.query('select 1 from budget_alerts where budget_id = $1', [id])).rowCount).toBe(1);
});

it('a refusal of another month alerts nobody', async () => {
  const key = await newKey();
  const owner = { accountId: key.accountId, workspaceId: key.workspaceId };
  await done(setBudget(pool, { ...owner, maxima: usualMaxima }, { limitNusd: 10n }, now));
  const old = { hour: hour - 40 * 24, kind: 'workspace_budget' } as const;
  await bookRefusals(pool, [counted(key, 1, old)], now);
  expect((await pool.query('select 1 from budget_alerts where account_id = $1', [key.accountId])).rowCount).toBe(0);
});

it('reads a shard from the hour of its last booking on, and again what was not booked', async () => {
  const key = await newKey();
  const asked: [shard: number, from: number][] = [];
  let isDown = true;
  const readRefusals = async (shard: number, from: number): Promise<RefusalCounts> => {
    if (shard === 3) asked.push([shard, from]);
    if (shard === 3 && isDown) throw new StateUnavailableError('away');
    return { hour, counts: shard === 5 ? [counted(key, 2)] : [] };
  };
  const books = new RefusalBooks({ pool, state: { readRefusals }, now: () => now });
  await expect(books.book()).rejects.toThrow(StateUnavailableError);
  expect(await countsOf(key)).toEqual([2]);
  isDown = false;
  await books.book();
  await books.book();
  expect(asked.map(([, from]) => from)).toEqual([hour - 26, hour - 26, hour]);

  const failing = { connect: () => Promise.reject(new Error('full')) } as unknown as pg.Pool;
  const others = new RefusalBooks({ pool: failing, state: { readRefusals }, now: () => now });
  await expect(others.book()).rejects.toThrow('full');
  await expect(others.book()).rejects.toThrow('full');
  expect(asked.at(-1)).toEqual([3, hour - 26]);
});

it('leaves earlier hours out of an answer with thousands of counts, whole, and says where to go on', async () => {
  const { accountId, workspaceId } = await newKey();
  const fill = (ago: number, keys: number) =>
    pool.query(
      `insert into refusals (account_id, workspace_id, hour, key_id, kind, epoch, count)
       select $1, $2, to_timestamp($3), gen_random_uuid(), 'balance', 1, 1 from generate_series(1, $4::int)`,
      [accountId, workspaceId, (hour - ago) * 3600, keys],
    );
  for (const [ago, keys] of [
    [0, 800],
    [1, 1000],
    [2, 400],
    [3, 2500],
    [4, 10],
  ] as const)
    await fill(ago, keys);
  const pages: [from: string, to: string, counts: number][] = [];
  for (let to: Date | undefined = range.to; to !== undefined; ) {
    const { data, next_to: next } = await readRefusals(pool, { accountId }, { ...range, to });
    pages.push([data[0]?.hour ?? '', data.at(-1)?.hour ?? '', data.length]);
    to = next === null ? undefined : new Date(next);
  }
  const at = (ago: number): string => new Date((hour - ago) * hourMs).toISOString();
  expect(pages).toEqual([
    [at(0), at(1), 1800],
    [at(2), at(2), 400],
    [at(3), at(3), 2500],
    [at(4), at(4), 10],
  ]);
});

it('forgets counts after 90 days', async () => {
  const key = await newKey();
  await bookRefusals(pool, [counted(key, 1)], now);
  await purgeRefusals(pool, now + 89 * 24 * hourMs);
  expect(await countsOf(key)).toEqual([1]);
  await purgeRefusals(pool, now + 91 * 24 * hourMs);
  expect(await countsOf(key)).toEqual([]);
});

it.each([
  ['all', {}],
  ['a workspace', { workspace_id: randomUUID() }],
  ['a member', { workspace_id: randomUUID(), member_id: randomUUID() }],
])('finds the refusals of %s by the index', async (_, filters) => {
  const lines: string[] = [];
  await inTransaction(pool, async (client) => {
    await client.query('set local enable_seqscan = off; set local enable_bitmapscan = off');
    const explaining = {
      query: async (sql: string, values: unknown[]) => {
        const { rows } = await client.query<Record<string, string>>(`explain (costs off) ${sql}`, values);
        lines.push(...rows.map((row) => row['QUERY PLAN'] ?? ''));
        return { rows: [] };
      },
    } as unknown as pg.Pool;
    await readRefusals(explaining, { accountId: randomUUID() }, { ...range, ...filters });
  });
  const plan = lines.join('\n');
  expect(plan).toContain('refusals_account_id_workspace_id_hour_key_id_kind_epoch_pk');
  expect(plan).toMatch(/Index Cond: .*workspace_id.*hour/);
  // The newest hours of one workspace come in the order of the index, so that the query ends at the limit.
  if ('workspace_id' in filters && !('member_id' in filters)) expect(plan).not.toContain('Sort');
});
