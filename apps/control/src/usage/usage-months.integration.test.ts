import { randomUUID } from 'node:crypto';
import { type AccountRef, monthOf } from '@sotto/state';
import { startTestPostgres, type TestPostgres, until } from '@sotto/test-servers';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type DatabaseConnection, openDatabase } from '../database/database.ts';
import { bookSettlements } from '../ledger/book-settlements.ts';
import type { AttributedSettlement } from '../ledger/record-usage.ts';
import { auditLedger } from '../money-audit/audit-ledger.ts';
import { makeOwners, settledChat } from '../testing/test-database.integration.ts';
import { keepUsageMonths, readKeptFrom } from './usage-months.ts';
import { exportUsage, readUsage } from './usage-store.ts';

let postgres: TestPostgres;
let database: DatabaseConnection;
let pool: DatabaseConnection['pool'];
let owner: AccountRef;
/** The month after next: the first that the migration left out of the first partition. */
let base: Date;

beforeAll(async () => {
  postgres = await startTestPostgres();
});
afterAll(async () => {
  await postgres?.stop();
});
beforeEach(async () => {
  const url = await postgres.createDatabase();
  // Not UTC, because months must be UTC under any time zone of the server.
  const elsewhere = new URL(url);
  elsewhere.searchParams.set('options', '-c timezone=Pacific/Auckland');
  database = openDatabase(elsewhere.href);
  ({ pool } = database);
  [owner] = await makeOwners(pool, 1);
  const today = new Date();
  base = new Date(Date.UTC(today.getUTCFullYear(), today.getUTCMonth() + 2));
  return () => database.close();
});

/** A day of the month so many months after `base`. Day 1 is its first instant, day 0 is in the month before. */
const day = (month: number, of = 1): number => Date.UTC(base.getUTCFullYear(), base.getUTCMonth() + month, of);
const nameOf = (month: number): string => `usage_${new Date(day(month)).toISOString().slice(0, 7).replace('-', '_')}`;

const settlementAt = (at: number): AttributedSettlement => ({
  settlement: { ...settledChat, id: randomUUID(), chargeNusd: '7', at, month: monthOf(at) },
  owner,
});
const book = (...times: readonly number[]) => bookSettlements(pool, times.map(settlementAt));

const partitions = async (): Promise<string[]> => {
  const { rows } = await pool.query<{ name: string }>(
    "select inhrelid::regclass::text as name from pg_inherits where inhparent = 'usage'::regclass order by 1",
  );
  return rows.map(({ name }) => name);
};
/** The partition and time of each row. */
const kept = async (): Promise<[string, number][]> => {
  const { rows } = await pool.query<{ name: string; at: Date }>(
    'select tableoid::regclass::text as name, at from usage order by at',
  );
  return rows.map(({ name, at }) => [name, at.getTime()]);
};
const summed = async (): Promise<number> => {
  const { rows } = await pool.query<{ sum: string }>('select sum(requests) as sum from usage_daily');
  return Number(rows[0]?.sum ?? 0);
};
const whats = async (): Promise<string[]> => (await auditLedger(pool)).map(({ what }) => what);

describe('the months of usage', () => {
  it('are created two ahead, with the indexes of the table, and once by two controls', async () => {
    const runs = Array.from({ length: 4 }, () => keepUsageMonths(pool, { now: day(1), retention: undefined }));
    const created = (await Promise.all(runs)).flatMap((change) => change.created);
    expect(created).toEqual([0, 1, 2, 3].map(nameOf));
    expect(await partitions()).toEqual([...created, 'usage_first', 'usage_other'].sort());
    const { rows } = await pool.query(
      'select from pg_indexes where tablename = any($1) group by tablename having count(*) = 9',
      [created],
    );
    expect(rows).toHaveLength(4);
    expect(await keepUsageMonths(pool, { now: day(1, 28), retention: undefined })).toEqual({
      created: [],
      dropped: [],
    });
  });

  it('take over rows that were booked before their partition existed', async () => {
    await book(day(0, 0), day(0), day(1, 0), day(1), day(9));
    expect(new Set((await kept()).map(([name]) => name))).toEqual(new Set(['usage_first', 'usage_other']));
    await keepUsageMonths(pool, { now: day(0), retention: undefined });
    expect(await kept()).toEqual([
      ['usage_first', day(0, 0)],
      [nameOf(0), day(0)],
      [nameOf(0), day(1, 0)],
      [nameOf(1), day(1)],
      ['usage_other', day(9)],
    ]);
    expect(await whats()).toEqual([]);
  });

  it('are dropped when they are older than the retention; the sums stay and the audit accepts it', async () => {
    await keepUsageMonths(pool, { now: day(2), retention: undefined });
    await book(day(0, 0), day(0, 5), day(1, 0), day(1), day(2));
    expect(await readKeptFrom(pool)).toBeNull();
    const query = { limit: 100, format: undefined } as const;
    expect(await readUsage(pool, owner, query)).toMatchObject({ kept_from: null, data: { length: 5 } });

    // In the second month after it, the month before the last is dropped.
    const { dropped } = await keepUsageMonths(pool, { now: day(2, 9), retention: 1 });
    expect(dropped).toEqual(['usage_first', nameOf(0)]);
    expect((await kept()).map(([, at]) => at)).toEqual([day(1), day(2)]);
    expect(await summed()).toBe(5);
    expect(await whats()).toEqual([]);
    const page = await readUsage(pool, owner, query);
    expect(page).toMatchObject({ kept_from: new Date(day(1)).toISOString(), data: { length: 2 } });
    const asked = { from: new Date(day(0)), to: new Date(day(1)) };
    expect((await readUsage(pool, owner, { ...query, ...asked })).data).toEqual([]);
    const exported: unknown[] = [];
    for await (const rows of exportUsage(pool, owner, {})) exported.push(...rows);
    expect(exported).toHaveLength(2);

    // A longer retention brings nothing back, and the bound never falls.
    await keepUsageMonths(pool, { now: day(2, 9), retention: 12 });
    expect(await readKeptFrom(pool)).toEqual(new Date(day(1)));
  });

  it('lose a late booking of a dropped month at the next run; its sums stay', async () => {
    await keepUsageMonths(pool, { now: day(2), retention: undefined });
    await keepUsageMonths(pool, { now: day(2), retention: 1 });
    await book(day(0, 9), day(1, 9));
    expect((await kept()).map(([name]) => name)).toEqual(['usage_other', nameOf(1)]);
    expect(await whats()).toEqual([]);
    await keepUsageMonths(pool, { now: day(2), retention: 1 });
    expect(await kept()).toEqual([[nameOf(1), day(1, 9)]]);
    expect(await summed()).toBe(2);
    expect(await whats()).toEqual([]);
  });

  it('are complete for the audit: it reports a row that is missing or changed in a kept month', async () => {
    await keepUsageMonths(pool, { now: day(2), retention: undefined });
    await keepUsageMonths(pool, { now: day(2), retention: 1 });
    await book(day(0), day(1), day(2));
    const what = ['the daily sums of a key are not those of its usage'];
    await pool.query('update usage set cost_nusd = cost_nusd + 1 where at = $1', [new Date(day(1))]);
    expect(await whats()).toEqual(what);
    await pool.query('update usage set cost_nusd = 0 where at = $1', [new Date(day(1))]);
    await pool.query('update usage_daily set cost_nusd = 0 where day = $1::date', [new Date(day(1)).toISOString()]);
    await pool.query('delete from usage where at = $1', [new Date(day(1))]);
    // The row cost nothing, so that only the number of requests tells.
    expect(await whats()).toContain(what[0]);
  });

  it('wait for a booking, which then keeps its sums, and for a long reader only briefly', async () => {
    await keepUsageMonths(pool, { now: day(2), retention: undefined });
    const booking = await pool.connect();
    await booking.query('begin');
    await booking.query('lock table usage in row exclusive mode');
    const waiting = keepUsageMonths(pool, { now: day(2), retention: 1 });
    await until(async () => (await waitersForUsage()) === 1, 'the run waits');
    await booking.query('commit');
    expect((await waiting).dropped).toEqual(['usage_first', nameOf(0)]);

    await booking.query('begin');
    await booking.query('select from usage');
    await expect(keepUsageMonths(pool, { now: day(3), retention: 1 })).rejects.toMatchObject({ code: '55P03' });
    await book(day(1), day(2));
    await booking.query('commit');
    booking.release();
    expect((await keepUsageMonths(pool, { now: day(3), retention: 1 })).dropped).toEqual([nameOf(1)]);
    expect(await kept()).toEqual([[nameOf(2), day(2)]]);
    expect(await whats()).toEqual([]);
  });

  it('lose and double nothing while settlers book the same charges at once, months come and months go', async () => {
    const months = [0, 1, 2, 3, 4, 5, 6];
    // Charges of every month, so that some are booked late and some before their month has a partition.
    const charges = months.flatMap((month) =>
      Array.from({ length: 40 }, (_, index) => settlementAt(day(month, 1 + (index % 28)))),
    );
    const batches = Array.from({ length: 40 }, (_, index) => charges.filter((__, number) => number % 40 === index));
    const settle = async (order: readonly AttributedSettlement[][]): Promise<void> => {
      for (const batch of order) await bookSettlements(pool, batch);
    };
    const keep = async (): Promise<void> => {
      for (const month of months) await keepUsageMonths(pool, { now: day(month), retention: 2 });
    };
    await Promise.all([settle(batches), settle(batches.toReversed()), keep(), keep()]);
    await keepUsageMonths(pool, { now: day(6), retention: 2 });

    expect(await summed()).toBe(charges.length);
    expect(await readKeptFrom(pool)).toEqual(new Date(day(4)));
    const expected = charges.map(({ settlement }) => settlement.at).filter((at) => at >= day(4));
    expect((await kept()).map(([, at]) => at)).toEqual(expected.sort((a, b) => a - b));
    expect((await kept()).map(([name]) => name)).not.toContain('usage_other');
    expect(await whats()).toEqual([]);
  });
});

async function waitersForUsage(): Promise<number> {
  const { rows } = await pool.query(
    "select from pg_locks where relation = 'usage'::regclass and not granted and database = (select oid from pg_database where datname = current_database())",
  );
  return rows.length;
}
