import type { Maxima } from '@sotto/contract';
import { keyContracts, type UpdateKey } from '@sotto/contract/control/keys';
import type { KeyKind } from '@sotto/state';
import { autoModelId, ServiceError } from '@sotto/wire';
import type pg from 'pg';
import { type Act, byAccount, recordAct } from '../audit-log/record-act.ts';
import type { CatalogKeeper } from '../catalog/catalog-keeper.ts';
import { inTransaction } from '../database/in-transaction.ts';
import { orError } from '../database/refused.ts';
import type { Domain } from '../domain.ts';
import { atMaximum } from '../limits/maximum.ts';
import { maximumErrors } from '../limits/maximum-errors.ts';
import { projectKeys } from '../projection/project-keys.ts';
import type { Projector } from '../projection/projector.ts';
import { notFound } from '../serve/not-found.ts';
import type { Serve } from '../serve/serve.ts';
import { accessErrors, assertMay, requireWorkspace } from '../workspaces/require-workspace.ts';
import { lockWorkspace } from '../workspaces/workspace-access.ts';
import {
  insertKey,
  type KeyChange,
  listKeys,
  revokeKey,
  rotateKey,
  type TooManySecrets,
  updateKey,
} from './key-store.ts';
import { readLimit } from './read-limit.ts';

export interface KeysDependencies {
  readonly pool: pg.Pool;
  readonly projector: Projector;
  readonly keeper: Pick<CatalogKeeper, 'catalog'>;
  readonly maxima: Maxima;
  /** The rate limits of the deployment, per key and minute. */
  readonly limits: { readonly requests: number; readonly tokens: number };
}

export const buildKeys = (deps: KeysDependencies): Domain => ({ register: ({ serve }) => serveKeys(serve, deps) });

/** Serves the keys of an account. Only the answer that creates or rotates a key contains its secret. */
function serveKeys(serve: Serve, deps: KeysDependencies): void {
  const { pool, projector } = deps;
  serve(keyContracts)({
    'GET /v1/keys': async ({ caller: { accountId }, query: { workspace_id: workspaceId, ...page } }) => {
      if (workspaceId === undefined) return listKeys(pool, { accountId }, page);
      await requireWorkspace(pool, { accountId, workspaceId, action: 'read' });
      return listKeys(pool, { workspaceId }, page);
    },

    'POST /v1/keys': async ({ caller: { accountId }, body }) => {
      const rules = readRules(deps, body.kind, body);
      const key = await inTransaction(pool, async (client) => {
        const action = body.kind === 'management' ? 'makeManagementKeys' : 'useOwnKeys';
        const locked = await lockWorkspace(client, { accountId, workspaceId: body.workspace_id, action });
        const workspace = orError(locked, accessErrors);
        const creation = { accountId: workspace.accountId, creatorId: accountId, maxima: deps.maxima };
        orError(await atMaximum(client, 'keys', creation), maximumErrors);
        const created = await insertKey(client, {
          accountId: workspace.accountId,
          createdBy: accountId,
          workspaceId: workspace.id,
          kind: body.kind,
          name: body.name,
          ...rules,
          creditLimitNusd: rules.creditLimitNusd,
          openaiCompatible: body.openai_compatible ?? true,
          tag: body.tag,
        });
        await recordAct(client, {
          actor: byAccount(accountId),
          act: 'key_created',
          accountId,
          workspaceId: workspace.id,
          details: {
            key_id: created.id,
            kind: body.kind,
            ...toldRules(body),
            credit_limit_usd: created.credit_limit_usd,
          },
        });
        return created;
      });
      // The secret is shown only once, so this answers even if the state is unavailable.
      await projectKeys(projector, [key.id]);
      return key;
    },

    'PATCH /v1/keys/{id}': async ({ caller: { accountId }, params: { id }, body }) => {
      const { name, tag, disabled: isDisabled, openai_compatible: openaiCompatible, ...others } = body;
      const key = await inTransaction(pool, async (client) => {
        const { workspaceId, createdBy, kind } = await lockKey(client, accountId, id);
        const change = { ...readRules(deps, kind, others), name, tag, isDisabled, openaiCompatible };
        const changed = await updateKey(client, id, change);
        if (changed === undefined) return undefined;
        const shared = { actor: byAccount(accountId), accountId: createdBy, workspaceId };
        if (isDisabled !== undefined) {
          const act = isDisabled ? 'key_disabled' : 'key_enabled';
          await recordAct(client, { ...shared, act, details: { key_id: id } });
        }
        if (isDisabled !== undefined && Object.keys(body).length === 1) return changed;
        const details = { key_id: id, ...toldRules(body), ...toldWords(body) };
        await recordAct(client, { ...shared, act: 'key_changed', details });
        return changed;
      });
      if (key === undefined) throw notFound('key');
      await projector.key(id);
      return key;
    },

    'POST /v1/keys/{id}/rotate-secret': async ({ caller: { accountId }, params: { id }, body: { overlap_hours } }) => {
      const key = await inTransaction(pool, async (client) => {
        const { workspaceId, createdBy } = await lockKey(client, accountId, id);
        const rotated = orError(await rotateKey(client, id, Math.round(overlap_hours * 3_600_000)), rotationErrors);
        const act = { actor: byAccount(accountId), act: 'key_rotated', accountId: createdBy, workspaceId } as const;
        await recordAct(client, { ...act, details: { key_id: id, overlap_hours } });
        return rotated;
      });
      // The secret is shown only once, so this answers even if the state is unavailable.
      await projectKeys(projector, [id]);
      return key;
    },

    'DELETE /v1/keys/{id}': async ({ caller: { accountId }, params: { id } }) => {
      await inTransaction(pool, async (client) => {
        const { workspaceId, createdBy } = await lockKey(client, accountId, id);
        await revokeKey(client, id);
        const details = { key_id: id };
        const act = { actor: byAccount(accountId), accountId: createdBy, workspaceId, details };
        await recordAct(client, { ...act, act: 'key_revoked' });
      });
      await projector.key(id);
    },
  });
}

const rotationErrors = {
  revoked: () => notFound('key'),
  too_many_secrets: ({ secrets, most, nextEnd }: TooManySecrets) =>
    new ServiceError('conflict', {
      message:
        `${secrets} earlier secrets of this key would still work; the most is ${most}. ` +
        `Rotate with \`overlap_hours\` 0, which ends them, or wait until ${nextEnd.toISOString()}.`,
    }),
};

type SentRules = Pick<
  UpdateKey,
  'credit_limit_usd' | 'expires_at' | 'allowed_models' | 'requests_per_minute' | 'tokens_per_minute'
>;

/** Reads the rules of a key. Throws if one could never be met. Null removes a rule, undefined leaves it. */
function readRules(
  { keeper, limits }: Pick<KeysDependencies, 'keeper' | 'limits'>,
  kind: KeyKind,
  { credit_limit_usd, expires_at, allowed_models, requests_per_minute, tokens_per_minute }: SentRules,
): Pick<KeyChange, 'creditLimitNusd' | 'expiresAt' | 'allowedModels' | 'limitRequests' | 'limitTokens'> {
  const refuse = (param: keyof SentRules, message: string): never => {
    throw new ServiceError('invalid_request', { message: `\`${param}\` ${message}`, param });
  };
  const expiresAt = expires_at == null ? expires_at : new Date(expires_at);
  if (expiresAt != null && expiresAt.getTime() <= Date.now()) {
    refuse('expires_at', `is ${expires_at}, which is past. Revoke a key to end it now.`);
  }
  if (allowed_models != null) {
    if (kind === 'management') refuse('allowed_models', 'is for inference keys. A management key sends no requests.');
    const isKnown = (id: string): boolean => id === autoModelId || keeper.catalog?.models.has(id) !== false;
    const unknown = allowed_models.find((id) => !isKnown(id));
    if (unknown !== undefined) refuse('allowed_models', `has \`${unknown}\`, which no model of this deployment is.`);
  }
  for (const [param, value, most] of [
    ['requests_per_minute', requests_per_minute, limits.requests],
    ['tokens_per_minute', tokens_per_minute, limits.tokens],
  ] as const) {
    if (value != null && value > most) refuse(param, `is ${value}; this deployment allows at most ${most} per key.`);
  }
  return {
    creditLimitNusd: readLimit(credit_limit_usd),
    expiresAt,
    allowedModels: allowed_models && [...new Set(allowed_models)],
    limitRequests: requests_per_minute,
    limitTokens: tokens_per_minute,
  };
}

/** The rules that were sent, as the audit log tells them. Null: a limit was removed. */
const toldRules = ({
  credit_limit_usd,
  openai_compatible,
  expires_at,
  allowed_models,
  requests_per_minute,
  tokens_per_minute,
}: SentRules & Pick<UpdateKey, 'openai_compatible'>): NonNullable<Act['details']> => {
  const rules = {
    ...{ credit_limit_usd, openai_compatible, expires_at, requests_per_minute, tokens_per_minute },
    allowed_models: allowed_models === null ? null : allowed_models?.join(' '),
  };
  return Object.fromEntries(
    Object.entries(rules).flatMap(([rule, value]) => (value === undefined ? [] : [[rule, value]])),
  );
};

/** Tells that a name or a tag changed. They are words of a user, so the log does not hold them. */
const toldWords = ({ name, tag }: Pick<UpdateKey, 'name' | 'tag'>): NonNullable<Act['details']> => ({
  ...(name === undefined ? {} : { renamed: true }),
  ...(tag === undefined ? {} : { tag_changed: true }),
});

/**
 * Locks the workspace of a key if the caller may change the key. Its creator may, and members who may change all keys.
 * Returns its workspace and creator. Throws `not_found` if the caller is not in that workspace, and `forbidden` if the caller’s role is too weak.
 */
async function lockKey(
  client: pg.PoolClient,
  accountId: string,
  keyId: string,
): Promise<{ readonly workspaceId: string; readonly createdBy: string; readonly kind: KeyKind }> {
  const { rows } = await client.query<{ workspace_id: string; created_by: string; kind: KeyKind }>(
    `select workspace_id, created_by, kind from api_keys k where id = $1
       and not exists (select from connect_grants g where g.key_id = k.id)`,
    [keyId],
  );
  const [key] = rows;
  if (key === undefined) throw notFound('key');
  const locked = await lockWorkspace(client, { accountId, workspaceId: key.workspace_id, action: 'read' });
  const { role } = orError(locked, { ...accessErrors, no_workspace: () => notFound('key') });
  if (key.kind === 'management') assertMay(role, 'makeManagementKeys');
  assertMay(role, key.created_by === accountId ? 'useOwnKeys' : 'useAllKeys');
  return { workspaceId: key.workspace_id, createdBy: key.created_by, kind: key.kind };
}
