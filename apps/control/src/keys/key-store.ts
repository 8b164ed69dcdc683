import { randomUUID } from 'node:crypto';
import { type Nusd, nusdToUsd } from '@sotto/money';
import { createApiKey, hashSecret, type KeyKind } from '@sotto/state';
import type { KeyAnswer } from '@sotto/wire';
import type pg from 'pg';

export interface NewKey {
  /** Who pays. */
  readonly accountId: string;
  /** Who made it; default: the account itself. */
  readonly createdBy?: string;
  readonly workspaceId: string;
  readonly kind: KeyKind;
  readonly name: string;
  readonly creditLimitNusd: Nusd | undefined;
  readonly openaiCompatible: boolean;
}

/** Changes to a key; what is absent stays. */
export interface KeyChange {
  readonly name?: string | undefined;
  readonly creditLimitNusd?: Nusd | null | undefined;
  readonly openaiCompatible?: boolean | undefined;
}

interface KeyRow {
  id: string;
  name: string;
  kind: KeyKind;
  workspace_id: string;
  created_by: string;
  preview: string;
  credit_limit_nusd: string | null;
  spent_nusd: string;
  openai_compatible: boolean;
  created_at: Date;
  last_used_at: Date | null;
  revoked_at: Date | null;
}

const columns =
  'id, name, kind, workspace_id, created_by, preview, credit_limit_nusd, spent_nusd, openai_compatible, created_at, last_used_at, revoked_at';

/** Makes a key. The secret is in the answer and nowhere else. */
export async function insertKey(
  client: pg.Pool | pg.PoolClient,
  key: NewKey,
): Promise<KeyAnswer & { readonly key: string }> {
  const secret = createApiKey(key.kind);
  const { rows } = await client.query<KeyRow>(
    `insert into api_keys (id, account_id, workspace_id, kind, name, hash, preview, credit_limit_nusd, openai_compatible, created_by)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) returning ${columns}`,
    [
      randomUUID(),
      key.accountId,
      key.workspaceId,
      key.kind,
      key.name,
      hashSecret(secret),
      `${secret.slice(0, 10)}…${secret.slice(-4)}`,
      key.creditLimitNusd ?? null,
      key.openaiCompatible,
      key.createdBy ?? key.accountId,
    ],
  );
  const [row] = rows;
  if (row === undefined) throw new Error('the key was not inserted');
  return { ...toAnswer(row), key: secret };
}

/** The keys that an account pays for, or those of a workspace, whoever paid. Those of apps are shown as grants instead. */
export async function listKeys(
  pool: pg.Pool,
  of: { readonly accountId: string } | { readonly workspaceId: string },
): Promise<KeyAnswer[]> {
  const [column, id] = 'workspaceId' in of ? ['workspace_id', of.workspaceId] : ['account_id', of.accountId];
  const { rows } = await pool.query<KeyRow>(
    `select ${columns} from api_keys k where ${column} = $1
       and not exists (select from connect_grants g where g.key_id = k.id) order by created_at, id`,
    [id],
  );
  return rows.map(toAnswer);
}

/** Changes a key; undefined where it was revoked. A new name is no business of the brokers, and leaves its tickets as they are. */
export async function updateKey(
  client: pg.PoolClient,
  keyId: string,
  change: KeyChange,
): Promise<KeyAnswer | undefined> {
  const { rows } = await client.query<KeyRow>(
    `update api_keys set name = coalesce($2, name), openai_compatible = coalesce($3, openai_compatible),
       credit_limit_nusd = case when $4 then $5::bigint else credit_limit_nusd end,
       generation = generation + case when $3::boolean is not null or $4 then 1 else 0 end,
       funds_version = funds_version + case when $4 then 1 else 0 end
     where id = $1 and revoked_at is null returning ${columns}`,
    [
      keyId,
      change.name ?? null,
      change.openaiCompatible ?? null,
      change.creditLimitNusd !== undefined,
      change.creditLimitNusd ?? null,
    ],
  );
  return rows[0] && toAnswer(rows[0]);
}

/** Revokes a key; its history stays. Revoking twice is the same as once. */
export async function revokeKey(client: pg.PoolClient, keyId: string): Promise<void> {
  await client.query(
    'update api_keys set revoked_at = coalesce(revoked_at, now()), generation = generation + 1 where id = $1',
    [keyId],
  );
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
  created_at: row.created_at.toISOString(),
  last_used_at: row.last_used_at?.toISOString() ?? null,
  revoked_at: row.revoked_at?.toISOString() ?? null,
});
