import type { UsagePage, UsageQuery } from '@sotto/contract/control/usage';
import { nusdToDecimal, nusdToUsd } from '@sotto/money';
import { attemptErrors, privacyClassSchema, providerStatuses, usageErrors, usageStatuses } from '@sotto/wire';
import type pg from 'pg';
import type { SqlRow } from '../database/columns.ts';
import type { usage } from '../database/usage-schema.ts';
import { exportedRows, pageOf, type RowsQuery, readCursor } from '../serve/page-cursor.ts';
import { readKeptFrom } from './usage-months.ts';

export type UsageFilters = Omit<UsageQuery, 'cursor' | 'limit' | 'format'>;

/** The account whose requests are read, and optionally the one member whose keys made them. */
export interface UsageOwner {
  /** The account that pays. */
  readonly accountId: string;
  /** Set if only requests of keys that this account created may be read. */
  readonly onlyOf?: string | undefined;
}

type Told = 'operation' | 'model' | 'attempts' | 'fallback' | 'estimated';
/** A row of an account that people read. Only wallets have quiet rows, which lack these fields. */
type Row = Omit<SqlRow<typeof usage>, 'account_id' | Told> & {
  readonly [Field in Told]: NonNullable<SqlRow<typeof usage>[Field]>;
};

/**
 * Returns one page of an account’s usage, newest first. The cursor is the end of the previous page.
 *
 * Rows are booked some time after the minute that they carry. Following the cursors returns every row that existed at
 * the first page exactly once. A row that is booked in between is returned only if its minute is older than the cursor.
 */
export async function readUsage(
  pool: pg.Pool,
  owner: UsageOwner,
  { cursor, limit, ...filters }: UsageQuery,
): Promise<UsagePage> {
  const after = readCursor(cursor);
  const [keptFrom, rows] = await Promise.all([
    readKeptFrom(pool),
    readRows(pool, owner, filters, { after, limit: limit + 1 }),
  ]);
  const page = pageOf(rows, limit, { endOf: (row) => row, toAnswer });
  return { ...page, kept_from: keptFrom?.toISOString() ?? null };
}

type UsageAnswer = UsagePage['data'][number];

/** A row of a CSV export: as in JSON, with the cost to the nano-dollar and the failed attempts as one text. */
export type ExportedUsage = Omit<UsageAnswer, 'cost' | 'failed_attempts'> &
  Readonly<Record<'cost' | 'failed_attempts', string>>;

/** Yields all matching usage of an account, in the order of `readUsage`. No connection is held between pages. */
export async function* exportUsage(
  pool: pg.Pool,
  owner: UsageOwner,
  filters: UsageFilters,
): AsyncGenerator<ExportedUsage[]> {
  for await (const rows of exportedRows((query) => readRows(pool, owner, filters, query))) yield rows.map(toExport);
}

async function readRows(
  pool: pg.Pool,
  { accountId, onlyOf }: UsageOwner,
  { from, to, member_id: member, ...equal }: UsageFilters,
  { after, limit }: RowsQuery,
): Promise<Row[]> {
  const { status, error, key_id: keyId, workspace_id: workspaceId } = equal;
  const values: unknown[] = [];
  const bind = (value: unknown): string => `$${values.push(value)}`;
  const account = bind(accountId);
  // Adds only the filters in use, because a condition that may be void would keep Postgres from using the matching
  // index.
  const conditions = [`account_id = ${account}`];
  if (after !== undefined) {
    const at = bind(after.at);
    // The first condition lets Postgres leave out newer months.
    conditions.push(`at <= ${at}`, `(at, id) < (${at}, ${bind(after.id)})`);
  }
  if (from !== undefined) conditions.push(`at >= ${bind(from)}`);
  if (to !== undefined) conditions.push(`at < ${bind(to)}`);
  for (const column of ['model', 'provider', 'status', 'error', 'key_id', 'workspace_id'] as const)
    if (equal[column] !== undefined) conditions.push(`${column} = ${bind(equal[column])}`);
  // As the partial index says it.
  if (error !== undefined || (status !== undefined && status !== 'completed')) conditions.push(`status <> 'completed'`);
  if (keyId !== undefined && workspaceId !== undefined) {
    // A key belongs to one workspace. With another workspace, Postgres would read all usage of the key for an empty
    // result.
    conditions.push(`exists (select from usage_daily_keys
      where account_id = ${account} and key_id = ${bind(keyId)} and workspace_id = ${bind(workspaceId)})`);
  }
  const rowsOf = (more: readonly string[]): string => `select id, at, workspace_id, key_id, operation, model, provider,
      privacy_class, prompt_tokens, cached_tokens, completion_tokens, reasoning_tokens, cost_nusd, attempts, fallback,
      status, estimated, error, failed_attempts, provider_status
    from usage where ${[...conditions, ...more].join(' and ')} order by at desc, id desc limit ${bind(limit)}`;
  const creators = [member, onlyOf].flatMap((creator) =>
    creator === undefined ? [] : `created_by = ${bind(creator)}`,
  );
  // Reads the newest rows of each key by its index. Otherwise Postgres would read all of the account to find rare ones.
  const { rows } = await pool.query<Row>(
    creators.length === 0
      ? rowsOf([])
      : `select page.* from api_keys k cross join lateral (${rowsOf(['key_id = k.id'])}) page
         where k.account_id = ${account} and ${creators.map((creator) => `k.${creator}`).join(' and ')}
         order by page.at desc, page.id desc limit ${bind(limit)}`,
    values,
  );
  return rows;
}

const toExport = (row: Row): ExportedUsage => ({
  ...toAnswer(row),
  cost: nusdToDecimal(BigInt(row.cost_nusd)),
  failed_attempts: row.failed_attempts ?? '',
});

const toAnswer = (row: Row): UsageAnswer => ({
  id: row.id,
  at: row.at.toISOString(),
  workspace_id: row.workspace_id,
  key_id: row.key_id,
  operation: row.operation,
  model: row.model,
  provider: row.provider,
  privacy_class: row.privacy_class === null ? null : privacyClassSchema.parse(row.privacy_class),
  prompt_tokens: Number(row.prompt_tokens),
  cached_tokens: Number(row.cached_tokens),
  completion_tokens: Number(row.completion_tokens),
  reasoning_tokens: Number(row.reasoning_tokens),
  cost: nusdToUsd(BigInt(row.cost_nusd)),
  attempts: row.attempts,
  fallback: row.fallback,
  status: usageStatuses.find((status) => status === row.status) ?? 'failed',
  estimated: row.estimated,
  error: row.status === 'cancelled' ? 'cancelled' : (usageErrors.find((error) => error === row.error) ?? null),
  provider_status: providerStatuses.find((status) => status === row.provider_status) ?? null,
  failed_attempts: (row.failed_attempts?.split(' ') ?? []).map((attempt) => {
    const [provider = '', word] = attempt.split(':');
    return { provider, error: attemptErrors.find((error) => error === word) ?? 'provider' };
  }),
});
