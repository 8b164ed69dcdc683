import { randomUUID } from 'node:crypto';
import type { KeyAnswer, LockableField } from '@sotto/contract/control/keys';
import { type Nusd, nusdToUsd } from '@sotto/money';
import { createApiKey, hashSecret, type KeyKind } from '@sotto/state';
import type pg from 'pg';
import type { SqlRow } from '../database/columns.ts';
import { heldCompatible, heldExpiry, heldLimit } from '../database/held-rules.ts';
import { Refused, refused } from '../database/refused.ts';
import type { apiKeys } from '../database/schema.ts';
import { removeBudgets } from '../ledger/remove-budgets.ts';
import { byCreation, oldestFirst, type PageQuery } from '../serve/page-cursor.ts';
import { readLocks } from './locked-fields.ts';

/** What a key may do. */
interface KeyRules {
  readonly creditLimitNusd: Nusd | null;
  readonly openaiCompatible: boolean;
  readonly expiresAt: Date | null;
  readonly allowedModels: readonly string[] | null;
  readonly limitRequests: number | null;
  readonly limitTokens: number | null;
}

/** What its usage is grouped by, and a budget may limit. Brokers never learn it. */
interface Tagged {
  readonly tag?: string | null | undefined;
}

type SentRules = { readonly [Rule in keyof KeyRules]?: KeyRules[Rule] | undefined };

export interface NewKey extends SentRules, Tagged {
  /** The account that pays. */
  readonly accountId: string;
  /** The account that created it. Default: `accountId`. */
  readonly createdBy?: string;
  readonly workspaceId: string;
  readonly kind: KeyKind;
  readonly name: string;
  readonly creditLimitNusd: Nusd | null | undefined;
  readonly openaiCompatible: boolean;
}

/** Changes to a key. Absent fields stay as they are. */
export interface KeyChange extends SentRules, Tagged {
  readonly name?: string | undefined;
  readonly isDisabled?: boolean | undefined;
  readonly lockedFields?: readonly LockableField[] | undefined;
}

type KeyRow = Omit<
  SqlRow<typeof apiKeys>,
  'account_id' | 'hash' | 'funds_version' | 'generation' | 'projected_generation' | 'untagged_at'
> & { old_secrets: readonly { readonly preview: string; readonly ends_at: string }[] };

/** With the rules that hold, which may be stricter than the key's own. */
const selectKeys = `select k.id, k.name, k.kind, k.workspace_id, k.created_by, k.preview, ${heldLimit} as credit_limit_nusd,
    k.spent_nusd, ${heldCompatible} as openai_compatible, k.allowed_models, k.limit_requests, k.limit_tokens, k.tag, k.created_at,
    k.last_used_at, ${heldExpiry} as expires_at, k.disabled_at, k.revoked_at, k.locked_fields,
    (select coalesce(json_agg(json_build_object('preview', s.preview, 'ends_at', s.ends_at) order by s.ends_at), '[]')
     from key_secrets s where s.key_id = k.id and s.ends_at > now()) as old_secrets
  from api_keys k join workspaces w on w.id = k.workspace_id`;

async function readKey(client: pg.Pool | pg.PoolClient, keyId: string): Promise<KeyAnswer> {
  const { rows } = await client.query<KeyRow>(`${selectKeys} where k.id = $1`, [keyId]);
  const [row] = rows;
  if (row === undefined) throw new Error('the key is not there');
  return toAnswer(row);
}

const previewOf = (secret: string): string => `${secret.slice(0, 10)}…${secret.slice(-4)}`;

/** Creates a key. Only this answer contains the secret. */
export async function insertKey(
  client: pg.Pool | pg.PoolClient,
  key: NewKey,
): Promise<KeyAnswer & { readonly key: string }> {
  const secret = createApiKey(key.kind);
  const id = randomUUID();
  await client.query(
    `insert into api_keys (id, account_id, workspace_id, kind, name, hash, preview, credit_limit_nusd, openai_compatible, created_by,
       expires_at, allowed_models, limit_requests, limit_tokens, tag)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)`,
    [
      ...[id, key.accountId, key.workspaceId, key.kind, key.name, hashSecret(secret), previewOf(secret)],
      ...[key.creditLimitNusd ?? null, key.openaiCompatible, key.createdBy ?? key.accountId],
      ...[key.expiresAt ?? null, key.allowedModels ?? null, key.limitRequests ?? null, key.limitTokens ?? null],
      key.tag ?? null,
    ],
  );
  return { ...(await readKey(client, id)), key: secret };
}

/**
 * Lists the keys that an account pays for, or those of a workspace, regardless of payer. Keys of apps are listed as
 * grants instead.
 */
export function listKeys(
  pool: pg.Pool,
  of: { readonly accountId: string } | { readonly workspaceId: string },
  page: PageQuery,
): Promise<{ data: KeyAnswer[]; next_cursor: string | null }> {
  const [column, owner] = 'workspaceId' in of ? ['workspace_id', of.workspaceId] : ['account_id', of.accountId];
  const select = `${selectKeys} where k.${column} = $1
    and not exists (select from connect_grants g where g.key_id = k.id)`;
  const list = { select, values: [owner], at: 'k.created_at', id: 'k.id' };
  return oldestFirst<KeyRow, KeyAnswer>(pool, list, page, byCreation(toAnswer));
}

/**
 * Changes a key. Returns undefined if it was revoked. A new name or lock does not raise the generation, so its tickets stay valid. A new
 * tag does: a ticket names the owner of its charge with the tag of then, and must count in no other tag's budget.
 */
export async function updateKey(
  client: pg.PoolClient,
  keyId: string,
  change: KeyChange,
): Promise<KeyAnswer | undefined> {
  const { name, tag, creditLimitNusd, isDisabled, lockedFields } = change;
  const rules = Object.entries({
    credit_limit_nusd: creditLimitNusd,
    openai_compatible: change.openaiCompatible,
    expires_at: change.expiresAt,
    allowed_models: change.allowedModels,
    limit_requests: change.limitRequests,
    limit_tokens: change.limitTokens,
  }).filter(([, value]) => value !== undefined);
  const set = lockedFields === undefined ? rules : [...rules, ['locked_fields', lockedFields] as const];
  const { rowCount } = await client.query(
    `update api_keys set name = coalesce($2, name),
       disabled_at = case when $3::boolean is null then disabled_at when $3 then coalesce(disabled_at, now()) end,
       ${set.map(([column], at) => `${column} = $${at + 8},`).join(' ')}
       tag = case when $6 then $7 else tag end, untagged_at = case when ${retagged} and tag is not null then now() else untagged_at end,
       generation = generation + case when ${retagged} then 1 else $4 end, funds_version = funds_version + $5
     where id = $1 and revoked_at is null`,
    [
      ...[keyId, name ?? null, isDisabled ?? null],
      ...[rules.length > 0 || isDisabled !== undefined ? 1 : 0, creditLimitNusd === undefined ? 0 : 1],
      ...[tag !== undefined, tag ?? null],
      ...set.map(([, value]) => value),
    ],
  );
  return rowCount === 0 ? undefined : readKey(client, keyId);
}

const retagged = '($6 and tag is distinct from $7)';

/** Most secrets of a key that work at the same time. */
const maxSecrets = 5;

/** As many earlier secrets of a key would still work as may. The first of them ends at `nextEnd`. */
export interface TooManySecrets {
  readonly why: 'too_many_secrets';
  readonly secrets: number;
  readonly most: number;
  readonly nextEnd: Date;
}

/**
 * Gives a key another secret. Its secrets so far work for `overlapMs` more, or until an earlier rotation ends them, so that after the
 * overlap only the new one works. Only this answer contains the secret. The caller holds the workspace's lock, and rolls back a refusal.
 */
export async function rotateKey(
  client: pg.PoolClient,
  keyId: string,
  overlapMs: number,
): Promise<(KeyAnswer & { readonly key: string }) | Refused<TooManySecrets | { readonly why: 'revoked' }>> {
  const found = await client.query<{ kind: KeyKind }>(
    'select kind from api_keys where id = $1 and revoked_at is null for update',
    [keyId],
  );
  const [key] = found.rows;
  if (key === undefined) return refused('revoked');
  const secret = createApiKey(key.kind);
  await client.query(
    `insert into key_secrets (hash, key_id, preview, created_at) select hash, id, preview, created_at from api_keys k
     where id = $1 and not exists (select from key_secrets s where s.key_id = k.id)`,
    [keyId],
  );
  await client.query(
    `update key_secrets set ends_at = least(ends_at, now() + $2 * interval '1 millisecond') where key_id = $1`,
    [keyId, overlapMs],
  );
  await client.query('delete from key_secrets where key_id = $1 and ends_at <= now()', [keyId]);
  const { rows: earlier } = await client.query<{ ends_at: Date }>(
    'select ends_at from key_secrets where key_id = $1 order by ends_at',
    [keyId],
  );
  const [next] = earlier;
  if (next !== undefined && earlier.length >= maxSecrets)
    return new Refused({
      why: 'too_many_secrets',
      secrets: earlier.length,
      most: maxSecrets - 1,
      nextEnd: next.ends_at,
    });
  await client.query('insert into key_secrets (hash, key_id, preview) values ($1, $2, $3)', [
    hashSecret(secret),
    keyId,
    previewOf(secret),
  ]);
  await client.query('update api_keys set preview = $2, generation = generation + 1 where id = $1', [
    keyId,
    previewOf(secret),
  ]);
  return { ...(await readKey(client, keyId)), key: secret };
}

/** Revokes a key with its budget, and keeps its history. False: it was revoked before. */
export async function revokeKey(client: pg.PoolClient, keyId: string): Promise<boolean> {
  const { rowCount } = await client.query(
    'update api_keys set revoked_at = now(), generation = generation + 1 where id = $1 and revoked_at is null',
    [keyId],
  );
  await removeBudgets(client, { where: 'b.key_id = $1', values: [keyId] });
  return rowCount === 1;
}

const toAnswer = (row: KeyRow): KeyAnswer => ({
  id: row.id,
  name: row.name,
  kind: row.kind,
  workspace_id: row.workspace_id,
  created_by: row.created_by,
  preview: row.preview,
  credit_limit_usd: row.credit_limit_nusd === null ? null : nusdToUsd(BigInt(row.credit_limit_nusd)),
  spent_usd: nusdToUsd(BigInt(row.spent_nusd)),
  openai_compatible: row.openai_compatible,
  allowed_models: row.allowed_models,
  requests_per_minute: row.limit_requests,
  tokens_per_minute: row.limit_tokens,
  tag: row.tag,
  created_at: row.created_at.toISOString(),
  last_used_at: row.last_used_at?.toISOString() ?? null,
  expires_at: row.expires_at?.toISOString() ?? null,
  disabled_at: row.disabled_at?.toISOString() ?? null,
  revoked_at: row.revoked_at?.toISOString() ?? null,
  locked: [...readLocks(row.locked_fields)],
  old_secrets: row.old_secrets.map(({ preview, ends_at }) => ({ preview, ends_at: new Date(ends_at).toISOString() })),
});
