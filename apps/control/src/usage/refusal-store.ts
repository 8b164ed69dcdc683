import type { RefusalsAnswer, RefusalsQuery } from '@sotto/contract/control/usage';
import type { RefusalCount } from '@sotto/state';
import { type RefusalKind, refusalKinds } from '@sotto/wire';
import type pg from 'pg';
import { inTransaction } from '../database/in-transaction.ts';
import { noteRefusals } from '../ledger/budget-alerts.ts';
import type { HourRange } from './day-range.ts';
import type { UsageOwner } from './usage-store.ts';

const hourMs = 3_600_000;
const keptMs = 90 * 24 * hourMs;
/** The most counts of an answer, unless one hour has more. */
const mostGroups = 2_000;

/**
 * Stores counts of refusals that were read at a time, in ms since 1970, and notes the alerts of budgets that refused. A stored count only rises, so these interleavings count
 * nothing twice and alert once:
 *
 * - Two controls read the same counts: the later one finds nothing larger.
 * - A control dies before its commit: the counts are still in the shared state.
 * - A control that read earlier commits later: a smaller count changes nothing.
 */
export async function bookRefusals(pool: pg.Pool, counts: readonly RefusalCount[], readAt: number): Promise<void> {
  if (counts.length === 0) return;
  // One order for all, so that two bookings cannot deadlock.
  const rows = counts.toSorted((a, b) => (orderOf(a) < orderOf(b) ? -1 : 1));
  await inTransaction(pool, async (client) => {
    const { rows: raised } = await client.query<{ key_id: string; kind: string; hour: Date }>(
      `insert into refusals (account_id, workspace_id, hour, key_id, kind, epoch, count)
       select k.account_id, k.workspace_id, t.hour, k.id, t.kind, t.epoch, t.count
       from unnest($1::text[], $2::timestamptz[], $3::text[], $4::bigint[], $5::bigint[])
         with ordinality as t (hash, hour, kind, epoch, count, place)
       join api_keys k on k.hash = t.hash order by t.place
       on conflict (account_id, workspace_id, hour, key_id, kind, epoch) do update set count = excluded.count
         where refusals.count < excluded.count
       returning key_id, kind, hour`,
      [
        rows.map(({ keyHash }) => keyHash),
        rows.map(({ hour }) => new Date(hour * hourMs).toISOString()),
        rows.map(({ kind }) => kind),
        rows.map(({ epoch }) => epoch),
        rows.map(({ count }) => count),
      ],
    );
    await noteRefusals(
      client,
      raised.map(({ key_id: keyId, kind, hour }) => ({ keyId, kind, hour })),
      readAt,
    );
  });
}

const orderOf = ({ keyHash, hour, kind, epoch }: RefusalCount): string => [keyHash, hour, kind, epoch].join(' ');

/** Returns the counts of refusals by hour, key and kind, newest first. An hour is in the answer as a whole, or not at all. */
export async function readRefusals(pool: pg.Pool, owner: UsageOwner, asked: AskedRefusals): Promise<RefusalsAnswer> {
  const rows = await readGroups(pool, owner, asked, mostGroups + 1);
  const cut = rows.length > mostGroups ? rows.at(-1)?.hour : undefined;
  if (cut === undefined) return { data: rows.flatMap(toAnswer), next_to: null };
  const whole = rows.filter(({ hour }) => hour > cut);
  // One hour alone has more. Its keys bound it.
  const shown = whole.length > 0 ? whole : await readGroups(pool, owner, { ...asked, from: cut, to: hourAfter(cut) });
  const next = whole.length > 0 ? hourAfter(cut) : cut;
  return { data: shown.flatMap(toAnswer), next_to: next.toISOString() };
}

type AskedRefusals = HourRange & Omit<RefusalsQuery, 'from' | 'to'>;

interface Group {
  readonly hour: Date;
  readonly key_id: string;
  readonly kind: string;
  readonly count: string;
}

async function readGroups(
  pool: pg.Pool,
  { accountId, onlyOf }: UsageOwner,
  { from, to, workspace_id: workspaceId, key_id: keyId, member_id: memberId }: AskedRefusals,
  limit?: number,
): Promise<readonly Group[]> {
  const values: unknown[] = [accountId, from, to];
  const bind = (value: unknown): string => `$${values.push(value)}`;
  const conditions = ['r.account_id = $1', 'r.hour >= $2', 'r.hour < $3'];
  // Names the workspaces, so that Postgres reads only these hours of the index.
  conditions.push(
    workspaceId === undefined
      ? 'r.workspace_id = any(array(select id from workspaces where account_id = $1))'
      : `r.workspace_id = ${bind(workspaceId)}`,
  );
  if (keyId !== undefined) conditions.push(`r.key_id = ${bind(keyId)}`);
  for (const creator of [memberId, onlyOf])
    if (creator !== undefined)
      conditions.push(`r.key_id in (select id from api_keys where account_id = $1 and created_by = ${bind(creator)})`);
  const { rows } = await pool.query<Group>(
    `select r.hour, r.key_id, r.kind, sum(r.count) as count from refusals r where ${conditions.join(' and ')}
     group by 1, 2, 3 order by 1 desc, 2 desc, 3 desc limit ${bind(limit ?? null)}`,
    values,
  );
  return rows;
}

function toAnswer(row: Group): RefusalsAnswer['data'] {
  const kind = refusalKinds.find((each) => each === row.kind);
  if (kind === undefined) return [];
  const count = Number(row.count);
  return [{ hour: row.hour.toISOString(), key_id: row.key_id, status: statusOf[kind], kind, count }];
}

const hourAfter = (hour: Date): Date => new Date(hour.getTime() + hourMs);

const statusOf: Record<RefusalKind, 402 | 403 | 429> = {
  ...{ balance: 402, key_limit: 402, workspace_budget: 402, member_budget: 402, tag_budget: 402, key_budget: 402 },
  ...{ requests: 429, tokens: 429 },
  ...{ model: 403, access: 403, privacy: 403 },
};

/** Deletes old counts. */
export async function purgeRefusals(pool: pg.Pool, now: number): Promise<void> {
  await pool.query('delete from refusals where hour < $1', [new Date(now - keptMs)]);
}
