import { randomUUID } from 'node:crypto';
import type { AccountRef, Settlement, ToldSettlement } from '@sotto/state';
import type pg from 'pg';
import { prepared } from '../database/prepared.ts';
import { maxSum, type Rollup, rollups, sumNames, sums } from './rollups.ts';

/** A settlement with a valid MAC, and its owner. The owner is undefined if the account reference cannot be opened. */
export interface AttributedSettlement {
  readonly settlement: Settlement;
  readonly owner: AccountRef | undefined;
}

export type UsedSettlement = Settlement & AccountRef;

const maxTokens = Number.MAX_SAFE_INTEGER;
const maxAttempts = 2 ** 31 - 1;
/** The last millisecond of the year 9999, as Unix ms. */
const maxAt = 253_402_300_799_999;

const within = (count: number, largest: number): number => Math.min(Math.max(count, 0), largest);

/**
 * Returns a settlement that fits into a usage row. Its charge must be booked whatever its other fields are. So values
 * that no column can hold are brought into range instead of being rejected.
 */
export const recordable = (settlement: Settlement): Settlement => {
  const at = within(settlement.at, maxAt);
  if (settlement.v === 2) return { ...settlement, at };
  const text = (value: string): string => value.replaceAll('\u0000', '\ufffd');
  return {
    ...settlement,
    at,
    model: text(settlement.model),
    provider: settlement.provider === null ? null : text(settlement.provider),
    promptTokens: within(settlement.promptTokens, maxTokens),
    cachedTokens: within(settlement.cachedTokens, maxTokens),
    completionTokens: within(settlement.completionTokens, maxTokens),
    reasoningTokens: within(settlement.reasoningTokens, maxTokens),
    attempts: within(settlement.attempts, maxAttempts),
    error: errorOf(settlement),
    providerStatus: providerStatusOf(settlement),
    failedAttempts: settlement.failedAttempts?.slice(0, within(settlement.attempts - 1, maxAttempts)),
  };
};

/** Returns the class of a settlement that fits its status: none if it completed, and `cancelled` exactly if it was cancelled. */
function errorOf({ status, error }: ToldSettlement): ToldSettlement['error'] {
  if (status === 'cancelled') return 'cancelled';
  return status === 'completed' || error === 'cancelled' ? undefined : error;
}

/** Returns the class of a provider's status if it says why the request failed, and says nothing of a refused content. */
const providerStatusOf = ({ status, error, providerStatus }: ToldSettlement): ToldSettlement['providerStatus'] =>
  status === 'failed' && error !== 'request' ? providerStatus : undefined;

/**
 * Writes the usage rows of settlements and adds them to the daily sums and counts, in one statement, so that these cover
 * exactly the inserted rows. Call it in the transaction that books them, which holds locks on their accounts. Every sum
 * belongs to one account, so two bookings never wait for each other here.
 */
export async function recordUsage(client: pg.PoolClient, rows: readonly UsedSettlement[]): Promise<void> {
  if (rows.length === 0) return;
  const column = <T>(pick: (row: UsedSettlement) => T): T[] => rows.map(pick);
  /** A quiet settlement tells none of these. */
  const told = <T>(pick: (row: ToldSettlement) => T): (T | null)[] => column((row) => (row.v === 1 ? pick(row) : null));
  await insertUsage(client, [
    column(() => randomUUID()),
    column((row) => new Date(row.at).toISOString()),
    column((row) => row.accountId),
    column((row) => row.workspaceId),
    column((row) => row.keyId),
    told((row) => row.operation),
    told((row) => row.model),
    told((row) => row.provider),
    told((row) => row.privacyClass),
    told((row) => row.promptTokens),
    told((row) => row.cachedTokens),
    told((row) => row.completionTokens),
    told((row) => row.reasoningTokens),
    column((row) => row.chargeNusd),
    told((row) => row.attempts),
    told((row) => row.fallback),
    told((row) => row.status),
    told((row) => row.estimated),
    told((row) => row.error ?? null),
    told((row) => row.firstToken ?? null),
    told((row) => row.failedAttempts?.map(({ provider, error }) => `${provider}:${error}`).join(' ') || null),
    told((row) => row.providerStatus ?? null),
  ]);
}

/** Adds the inserted rows to a rollup, in the order of its unique index. */
function addTo({ table, dimensions }: Rollup): string {
  const row = ['account_id', 'day', ...dimensions].join(', ');
  const atMost = (sum: string): string => `least(${sum}, ${maxSum})`;
  const added = Object.values(sums).map(atMost).join(', ');
  const raised = sumNames.map((name) => `${name} = ${atMost(`${table}.${name}::numeric + excluded.${name}`)}`);
  return `insert into ${table} (${row}, ${sumNames.join(', ')})
    select ${row}, ${added} from added group by ${row} order by ${row}
    on conflict (${row}) do update set ${raised.join(', ')}`;
}

const insertUsage = prepared(`
  with added as (
    insert into usage (id, at, account_id, workspace_id, key_id, operation, model, provider, privacy_class, prompt_tokens,
      cached_tokens, completion_tokens, reasoning_tokens, cost_nusd, attempts, fallback, status, estimated, error,
      failed_attempts, provider_status)
    select * from unnest($1::uuid[], $2::timestamptz[], $3::uuid[], $4::uuid[], $5::uuid[], $6::text[], $7::text[],
      $8::text[], $9::text[], $10::bigint[], $11::bigint[], $12::bigint[], $13::bigint[], $14::bigint[], $15::int[],
      $16::bool[], $17::text[], $18::bool[], $19::text[], $21::text[], $22::text[])
    returning *, (at at time zone 'UTC')::date as day
  ), ${rollups.map((rollup) => `${rollup.table}_added as (${addTo(rollup)})`).join(', ')},
  first_token_added as (
    insert into usage_daily_first_token (account_id, day, workspace_id, class, answers)
    select account_id, (at at time zone 'UTC')::date as day, workspace_id, class, count(*)
    from unnest($2::timestamptz[], $3::uuid[], $4::uuid[], $20::smallint[]) as first_token(at, account_id, workspace_id, class)
    where class is not null group by account_id, day, workspace_id, class order by account_id, day, workspace_id, class
    on conflict (account_id, day, workspace_id, class) do update
      set answers = least(usage_daily_first_token.answers::numeric + excluded.answers, ${maxSum})
  )
  select`);
