import pg from 'pg';
import { inTransaction } from '../database/in-transaction.ts';

/** Whole UTC months, besides the present one, for which rows of `usage` are kept. Undefined: for ever. */
export type UsageRetention = number | undefined;

/** The partitions of `usage` that a run created and dropped. */
export interface UsageMonthsChange {
  readonly created: readonly string[];
  readonly dropped: readonly string[];
}

interface Partition {
  readonly name: string;
  /** Exclusive. Null: the default partition, which takes the rows of months that have none. */
  readonly ends: Date | null;
}

interface Plan {
  /** The months that get a partition, as their first instants. */
  readonly create: readonly Date[];
  readonly drop: readonly Partition[];
  readonly other: string | undefined;
  /** Whether the default partition has rows of dropped months. */
  readonly hasOverdue: boolean;
}

const monthsAhead = 2;

/**
 * Creates the partitions of the next months, and drops those that end before the retention. `deployment.usage_kept_from`
 * says since when rows are complete. Daily sums and settlements stay.
 *
 * Everything happens in one transaction that holds `usage` exclusively, which takes milliseconds. So these interleavings
 * lose and double nothing:
 *
 * - *A booking beside a drop.* One waits for the other. A booking before it goes with its month. A later one of a dropped
 *   month finds no partition, so its row goes to the default partition, from where the next run deletes it. Its daily sums
 *   and its settlement stay.
 * - *A month is booked before its partition exists.* Its rows are in the default partition. They move to the new one in
 *   the same transaction.
 * - *Two controls at once.* The second waits and then plans again, under the lock. It finds nothing to do.
 * - *A long reader, such as `pg_dump` or the audit.* The lock is not granted in time, the run fails, and the next one tries
 *   again. Bookings wait for at most that long.
 */
export async function keepUsageMonths(
  pool: pg.Pool,
  { now, retention }: { readonly now: number; readonly retention: UsageRetention },
): Promise<UsageMonthsChange> {
  const keptFrom = retention === undefined ? undefined : monthAfter(now, -retention);
  const isDone = ({ create, drop, hasOverdue }: Plan): boolean =>
    create.length === 0 && drop.length === 0 && !hasOverdue;
  if (isDone(await readPlan(pool, now, keptFrom))) return { created: [], dropped: [] };
  return inTransaction(pool, async (client) => {
    await client.query(`set local lock_timeout = '${lockMs}ms'`);
    await client.query('lock table only usage in access exclusive mode');
    const { create, drop, other } = await readPlan(client, now, keptFrom);
    const created: string[] = [];
    for (const month of create) created.push(await createMonth(client, month, other));
    for (const { name } of drop) await client.query(`drop table ${pg.escapeIdentifier(name)}`);
    const [last] = drop.flatMap(({ ends }) => ends ?? []).sort((a, b) => b.getTime() - a.getTime());
    if (last !== undefined) {
      await client.query('update deployment set usage_kept_from = greatest(usage_kept_from, $1)', [last]);
    }
    if (other !== undefined) {
      await client.query(
        `delete from ${pg.escapeIdentifier(other)} where at < (select usage_kept_from from deployment)`,
      );
    }
    return { created, dropped: drop.map(({ name }) => name) };
  });
}

/** More than Postgres takes to notice an autovacuum in the way, which it then cancels (`deadlock_timeout`, 1 s). */
const lockMs = 2_000;

async function readPlan(client: pg.Pool | pg.PoolClient, now: number, keptFrom: Date | undefined): Promise<Plan> {
  const { rows: partitions } = await client.query<Partition>(
    `select c.relname as name, substring(pg_get_expr(c.relpartbound, c.oid) from $$TO \\('([^']+)'\\)$$)::timestamptz as ends
     from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent = 'usage'::regclass order by 2`,
  );
  const create: Date[] = [];
  let month = partitions.findLast(({ ends }) => ends !== null)?.ends ?? monthAfter(now, 0);
  for (; month <= monthAfter(now, monthsAhead); month = monthAfter(month.getTime(), 1)) create.push(month);
  const other = partitions.find(({ ends }) => ends === null)?.name;
  return {
    create,
    drop: partitions.filter(({ ends }) => ends !== null && keptFrom !== undefined && ends <= keptFrom),
    other,
    hasOverdue: other !== undefined && (await hasOverdue(client, other)),
  };
}

async function hasOverdue(client: pg.Pool | pg.PoolClient, other: string): Promise<boolean> {
  const { rows } = await client.query<{ found: boolean }>(
    `select exists (select from ${pg.escapeIdentifier(other)} where at < (select usage_kept_from from deployment)) as found`,
  );
  return rows[0]?.found === true;
}

/** Creates the partition of a month, with its rows of the default partition. Returns its name. */
async function createMonth(client: pg.PoolClient, month: Date, other: string | undefined): Promise<string> {
  const [from, to] = [month.toISOString(), monthAfter(month.getTime(), 1).toISOString()];
  const name = `usage_${from.slice(0, 7).replace('-', '_')}`;
  await client.query(`create table ${name} (like usage)`);
  if (other !== undefined) {
    await client.query(
      `with moved as (delete from ${pg.escapeIdentifier(other)} where at >= $1 and at < $2 returning *)
       insert into ${name} select * from moved`,
      [from, to],
    );
  }
  await client.query(`alter table usage attach partition ${name} for values from ('${from}') to ('${to}')`);
  return name;
}

/** The first instant of the UTC month so many months after another. */
function monthAfter(at: number, months: number): Date {
  const date = new Date(at);
  return new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + months));
}

/** Returns the instant before which rows of `usage` were deleted, or null if none were. */
export async function readKeptFrom(pool: pg.Pool): Promise<Date | null> {
  const { rows } = await pool.query<{ usage_kept_from: Date | null }>('select usage_kept_from from deployment');
  return rows[0]?.usage_kept_from ?? null;
}
