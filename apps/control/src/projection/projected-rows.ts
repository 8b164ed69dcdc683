import { type KeyProjection, sealAccountRef, shardOfWallet, workspaceIdOf } from '@sotto/state';
import type { SqlRow } from '../database/columns.ts';
import { heldCompatible, heldExpiry, heldLimit } from '../database/held-rules.ts';
import type { accounts, apiKeys, budgets, workspaces } from '../database/schema.ts';
import { type BudgetOwner, budgetIdsOf, largestSum, spentOf } from '../ledger/budget-months.ts';
import { spendableNusd } from '../ledger/post-transaction.ts';
import { tagIdOf } from '../ledger/tag-id.ts';

/** The rows of Postgres that are projected into the shared state, and the records that they become there. */

export type WalletRow = SqlRow<typeof accounts, 'id' | 'wallet_id' | 'balance_nusd' | 'version'>;

export const walletQuery = `select id, wallet_id, ${spendableNusd} as balance_nusd, version from accounts`;

export type WorkspaceRow = SqlRow<
  typeof workspaces,
  'id' | 'account_id' | 'preferences' | 'version' | 'tickets_since'
> &
  SqlRow<typeof accounts, 'wallet_id'>;

export const workspaceQuery = `
  select w.id, w.account_id, w.preferences, w.version, w.tickets_since, a.wallet_id from workspaces w join accounts a on a.id = w.account_id`;

export type KeyRow = Omit<
  SqlRow<typeof apiKeys>,
  | 'name'
  | 'preview'
  | 'untagged_at'
  | 'projected_generation'
  | 'created_at'
  | 'last_used_at'
  | 'disabled_at'
  | 'revoked_at'
> &
  SqlRow<typeof accounts, 'wallet_id'> & {
    preferences_version: string;
    counts_refusals: boolean;
    workspace_models: string[] | null;
    is_usable: boolean;
    /** Null: the key was never rotated. */
    secrets: readonly { readonly hash: string; readonly ends_ms: number | null }[] | null;
  };

/**
 * SQL: whether requests may use the key `k` of the workspace `w` and the account `a`, which the account `creator` created. Only such keys have a record. An
 * expired one keeps it for some minutes, because Redis' clock decides when it ends.
 */
export const isUsable = `(k.revoked_at is null and k.disabled_at is null and a.disabled_at is null
  and creator.disabled_at is null and coalesce(${heldExpiry} > now() - interval '5 minutes', true))`;

export const keyQuery = `
  select k.id, k.account_id, k.workspace_id, k.created_by, a.wallet_id, k.kind, k.hash, ${heldLimit} as credit_limit_nusd,
    k.spent_nusd, k.funds_version, k.generation, k.tag, ${heldCompatible} as openai_compatible, k.limit_requests, k.limit_tokens,
    k.allowed_models, w.policy_models as workspace_models, ${heldExpiry} as expires_at, w.version as preferences_version, ${isUsable} as is_usable,
    not exists (select from wallets where wallets.account_id = a.id) as counts_refusals,
    (select json_agg(json_build_object('hash', s.hash, 'ends_ms', floor(extract(epoch from s.ends_at) * 1000)))
     from key_secrets s where s.key_id = k.id) as secrets
  from api_keys k join accounts a on a.id = k.account_id join workspaces w on w.id = k.workspace_id
    join accounts creator on creator.id = k.created_by`;

export type BudgetRow = BudgetOwner &
  SqlRow<typeof budgets, 'id' | 'limit_nusd' | 'version'> &
  SqlRow<typeof accounts, 'wallet_id'> & { spent: Readonly<Record<string, string>> | null };

/** `$1` is the oldest month. One statement, so that the sums are those of the version. */
export const budgetQuery = `
  select b.id, b.workspace_id, b.member_id, b.key_id, b.tag_id, b.limit_nusd, b.version, w.account_id, a.wallet_id,
    (select json_object_agg(s.month, s.nusd) from (
      select m.month, ${largestSum}::text as nusd from ${spentOf('w.account_id')} where m.month >= $1 group by m.month) s) as spent
  from budgets b join workspaces w on w.id = b.workspace_id join accounts a on a.id = w.account_id`;

/** What the service adds to a key's row. */
export interface KeyTerms {
  readonly accountRefKey: Buffer;
  /** The service's own limits, which a key cannot exceed. */
  readonly limits: { readonly requests: number; readonly tokens: number };
}

/** Returns the record of a key that requests may use. */
export function keyProjection(row: KeyRow, { accountRefKey, limits }: KeyTerms): KeyProjection {
  const tagId = tagIdOf(row.workspace_id, row.tag);
  return {
    shard: shardOfWallet(row.wallet_id),
    keyHash: row.hash,
    walletId: row.wallet_id,
    workspace: {
      workspaceId: workspaceIdOf(row.account_id, row.workspace_id),
      version: Number(row.preferences_version),
    },
    generation: row.generation,
    expiresAt: row.expires_at?.getTime(),
    secrets: secretsOf(row),
    record: {
      v: 1,
      kind: row.kind,
      openaiCompatible: row.openai_compatible,
      ...(row.allowed_models === null ? {} : { allowedModels: row.allowed_models }),
      ...(row.workspace_models === null ? {} : { workspaceModels: row.workspace_models }),
      accountRef: sealAccountRef(accountRefKey, {
        accountId: row.account_id,
        workspaceId: row.workspace_id,
        keyId: row.id,
        tagId,
      }),
    },
    limitFundsNusd: row.credit_limit_nusd === null ? undefined : BigInt(row.credit_limit_nusd) - BigInt(row.spent_nusd),
    fundsVersion: Number(row.funds_version),
    limitRequests: Math.min(row.limit_requests ?? limits.requests, limits.requests),
    limitTokens: Math.min(row.limit_tokens ?? limits.tokens, limits.tokens),
    budgetIds: budgetIdsOf(row, tagId),
    countsRefusals: row.counts_refusals,
  };
}

/** The secrets of a key that was rotated. */
export const secretsOf = ({ secrets }: KeyRow): KeyProjection['secrets'] =>
  secrets?.map(({ hash, ends_ms }) => ({ secretHash: hash, endsAt: ends_ms ?? undefined }));
