import { nusdToDecimal, nusdToUsd } from '@sotto/money';
import { privacyClassSchema, ServiceError, type UsagePage, type UsageQuery, usageStatuses } from '@sotto/wire';
import type pg from 'pg';

export type UsageFilters = Pick<UsageQuery, 'from' | 'to' | 'model' | 'key_id' | 'workspace_id'>;

interface Row {
  id: string;
  at: Date;
  workspace_id: string;
  key_id: string;
  operation: string;
  model: string;
  provider: string | null;
  privacy_class: string | null;
  prompt_tokens: string;
  cached_tokens: string;
  completion_tokens: string;
  reasoning_tokens: string;
  cost_nusd: string;
  attempts: number;
  fallback: boolean;
  status: string;
  estimated: boolean;
}

/**
 * One page of an account's usage, newest first. The cursor is where the page before ended.
 *
 * Rows are booked some time after the minute they carry. Following the cursors shows every row that was there at the
 * first page exactly once; one that is booked meanwhile is shown where its minute is still ahead, and missed where it
 * is not.
 */
export async function readUsage(
  pool: pg.Pool,
  accountId: string,
  { cursor, limit, ...filters }: UsageQuery,
): Promise<UsagePage> {
  const rows = await readRows(pool, accountId, filters, {
    after: cursor === undefined ? undefined : readCursor(cursor),
    limit: limit + 1,
  });
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  const more = rows.length > limit && last !== undefined;
  return { data: page.map(toAnswer), next_cursor: more ? writeCursor(last) : null };
}

const exportedAtOnce = 2000;

/** A row of a CSV export: as in JSON, with the cost to the nano-dollar. */
export type ExportedUsage = Omit<UsagePage['data'][number], 'cost'> & { readonly cost: string };

/** All of an account's usage that matches, as `readUsage` pages through it. No connection is held between pages. */
export async function* exportUsage(
  pool: pg.Pool,
  accountId: string,
  filters: UsageFilters,
): AsyncGenerator<ExportedUsage[]> {
  let after: Place | undefined;
  for (;;) {
    const rows = await readRows(pool, accountId, filters, { after, limit: exportedAtOnce });
    if (rows.length > 0) yield rows.map((row) => ({ ...toAnswer(row), cost: nusdToDecimal(BigInt(row.cost_nusd)) }));
    after = rows.at(-1);
    if (after === undefined || rows.length < exportedAtOnce) return;
  }
}

/** Where a page ended. */
interface Place {
  readonly at: Date;
  readonly id: string;
}

async function readRows(
  pool: pg.Pool,
  accountId: string,
  { from, to, model, key_id: keyId, workspace_id: workspaceId }: UsageFilters,
  { after, limit }: { readonly after: Place | undefined; readonly limit: number },
): Promise<Row[]> {
  const values: unknown[] = [];
  const bind = (value: unknown): string => `$${values.push(value)}`;
  const account = bind(accountId);
  // Only what was asked for: a condition that may be void would hide the index that fits.
  const conditions = [`account_id = ${account}`];
  if (after !== undefined) conditions.push(`(at, id) < (${bind(after.at)}, ${bind(after.id)})`);
  if (from !== undefined) conditions.push(`at >= ${bind(from)}`);
  if (to !== undefined) conditions.push(`at < ${bind(to)}`);
  if (model !== undefined) conditions.push(`model = ${bind(model)}`);
  if (keyId !== undefined) conditions.push(`key_id = ${bind(keyId)}`);
  if (workspaceId !== undefined) conditions.push(`workspace_id = ${bind(workspaceId)}`);
  if (keyId !== undefined && workspaceId !== undefined) {
    // A key is of one workspace: with another, all that it ever did would be read for nothing.
    conditions.push(`exists (select from usage_daily_keys
      where account_id = ${account} and key_id = ${bind(keyId)} and workspace_id = ${bind(workspaceId)})`);
  }
  const { rows } = await pool.query<Row>(
    `select id, at, workspace_id, key_id, operation, model, provider, privacy_class, prompt_tokens, cached_tokens,
       completion_tokens, reasoning_tokens, cost_nusd, attempts, fallback, status, estimated
     from usage where ${conditions.join(' and ')} order by at desc, id desc limit ${bind(limit)}`,
    values,
  );
  return rows;
}

const toAnswer = (row: Row): UsagePage['data'][number] => ({
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
});

const writeCursor = ({ at, id }: Place): string => Buffer.from(`${at.toISOString()} ${id}`).toString('base64url');

const cursorPattern = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z) ([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})$/;

function readCursor(text: string): Place {
  const [, at = '', id = ''] = cursorPattern.exec(Buffer.from(text, 'base64url').toString('utf8')) ?? [];
  const place = { at: new Date(at), id };
  if (!Number.isNaN(place.at.getTime())) return place;
  throw new ServiceError('invalid_request', {
    message: '`cursor` must be the `next_cursor` of an earlier page.',
    param: 'cursor',
  });
}
