import type { Maxima } from '@sotto/contract';
import { keyContracts, type LockableField, type UpdateKey } from '@sotto/contract/control/keys';
import { nusdToUsd } from '@sotto/money';
import { ServiceError } from '@sotto/wire';
import type pg from 'pg';
import { byAccount, changedDetails, type Details, recordAct } from '../audit-log/record-act.ts';
import type { SqlRow } from '../database/columns.ts';
import { inTransaction } from '../database/in-transaction.ts';
import { orError } from '../database/refused.ts';
import type { apiKeys } from '../database/schema.ts';
import type { Domain } from '../domain.ts';
import { atMaximum, keyCounts } from '../limits/maximum.ts';
import { maximumErrors } from '../limits/maximum-errors.ts';
import { projectKeys } from '../projection/project-keys.ts';
import type { Projector } from '../projection/projector.ts';
import { notFound } from '../serve/not-found.ts';
import type { Serve } from '../serve/serve.ts';
import { mayDo } from '../workspaces/permissions.ts';
import { accessErrors, assertMay, requireWorkspace } from '../workspaces/require-workspace.ts';
import { lockWorkspace } from '../workspaces/workspace-access.ts';
import { insertKey, listKeys, revokeKey, rotateKey, type TooManySecrets, updateKey } from './key-store.ts';
import { firstLocked, locksAfter, readLocks } from './locked-fields.ts';
import { type RuleBounds, type RuledKey, readRules, type SentRules } from './read-rules.ts';

export interface KeysDependencies extends RuleBounds {
  readonly pool: pg.Pool;
  readonly projector: Projector;
  readonly maxima: Maxima;
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
      const key = await inTransaction(pool, async (client) => {
        const action = body.kind === 'management' ? 'makeManagementKeys' : 'useOwnKeys';
        const locked = await lockWorkspace(client, { accountId, workspaceId: body.workspace_id, action });
        const workspace = orError(locked, accessErrors);
        const { policy } = workspace;
        const rules = readRules(body, deps, { kind: body.kind, createdAt: new Date(), policy });
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
          openaiCompatible: rules.openaiCompatible ?? policy.openaiCompatible,
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
      const { name, tag, disabled: isDisabled } = body;
      const key = await inTransaction(pool, async (client) => {
        const { workspaceId, createdBy, isAdmin, locks, before, payerId, counts, ...ruled } = await lockKey(
          client,
          accountId,
          id,
          body,
        );
        if (body.expires_at !== undefined && !counts)
          orError(await atMaximum(client, 'keys', { accountId: payerId, maxima: deps.maxima }), maximumErrors);
        const locked = isAdmin ? undefined : firstLocked(locks, body);
        if (locked !== undefined) throw lockedByAdmin(locked);
        const after = locksAfter(locks, body, { isOwn: createdBy === accountId });
        const lockedFields = after.join() === locks.join() ? undefined : after;
        const changed = await updateKey(client, id, {
          ...readRules(body, deps, ruled),
          ...{ name, tag, isDisabled, lockedFields },
        });
        if (changed === undefined) return undefined;
        const shared = { actor: byAccount(accountId), accountId: createdBy, workspaceId };
        const toldLocks = lockedFields === undefined ? {} : { locked: lockedFields.join(' ') || null };
        const isSwitched = isDisabled !== undefined && (isDisabled !== before.disabled || lockedFields !== undefined);
        if (isSwitched) {
          const act = isDisabled ? 'key_disabled' : 'key_enabled';
          await recordAct(client, { ...shared, act, details: { key_id: id, ...toldLocks } });
        }
        if (isDisabled !== undefined && Object.keys(body).length === 1) return changed;
        const told = {
          ...changedDetails(toldRules(before), toldRules(body)),
          ...toldWords(body, before),
          ...toldLocks,
        };
        if (Object.keys(told).length > 0)
          await recordAct(client, { ...shared, act: 'key_changed', details: { key_id: id, ...told } });
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
        if (!(await revokeKey(client, id))) return;
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

/** The rules that were sent, as the audit log tells them. Null: a limit was removed. */
const toldRules = (sent: SentRules): Details => {
  const { credit_limit_usd, openai_compatible, expires_at, allowed_models } = sent;
  const { requests_per_minute, tokens_per_minute } = sent;
  const rules = {
    ...{ credit_limit_usd, openai_compatible, requests_per_minute, tokens_per_minute },
    expires_at: expires_at && new Date(expires_at).toISOString(),
    allowed_models: allowed_models && [...new Set(allowed_models)].join(' '),
  };
  return Object.fromEntries(
    Object.entries(rules).flatMap(([rule, value]) => (value === undefined ? [] : [[rule, value]])),
  );
};

/** Tells that a name or a tag changed. They are words of a user, so the log does not hold them. */
const toldWords = ({ name, tag }: UpdateKey, before: UpdateKey): Details => ({
  ...(name === undefined || name === before.name ? {} : { renamed: true }),
  ...(tag === undefined || tag === before.tag ? {} : { tag_changed: true }),
});

const lockedByAdmin = (param: LockableField): ServiceError =>
  new ServiceError('forbidden', {
    message:
      param === 'disabled'
        ? 'An admin disabled this key. Ask an admin of its workspace to enable it.'
        : `An admin set \`${param}\` of this key. Ask an admin of its workspace to change it.`,
    param,
  });

/** A key whose workspace is locked, for its change. */
interface LockedKey extends RuledKey {
  readonly workspaceId: string;
  readonly createdBy: string;
  /** The account that pays for it. */
  readonly payerId: string;
  /** Whether it counts among the keys that the account may have. */
  readonly counts: boolean;
  /** Whether the caller may change the keys of all members. */
  readonly isAdmin: boolean;
  /** The fields that an admin set. */
  readonly locks: readonly LockableField[];
  /** Its own fields, which the policy of the workspace may narrow. */
  readonly before: UpdateKey;
}

/**
 * Locks the workspace of a key if the caller may change the key. Its creator may, and members who may change all keys.
 * Throws `not_found` if the caller is not in that workspace, and `forbidden` if the caller’s role is too weak. The key of an app is found
 * only for a change of its tag.
 */
async function lockKey(
  client: pg.PoolClient,
  accountId: string,
  keyId: string,
  sent: UpdateKey = {},
): Promise<LockedKey> {
  const { rows } = await client.query<SqlRow<typeof apiKeys, 'workspace_id' | 'created_by' | 'kind' | 'created_at'>>(
    `select workspace_id, created_by, kind, created_at from api_keys k where id = $1
       and ($2 or not exists (select from connect_grants g where g.key_id = k.id))`,
    [keyId, Object.keys(sent).join() === 'tag'],
  );
  const [key] = rows;
  if (key === undefined) throw notFound('key');
  const locked = await lockWorkspace(client, { accountId, workspaceId: key.workspace_id, action: 'read' });
  const {
    role,
    policy,
    accountId: payerId,
  } = orError(locked, { ...accessErrors, no_workspace: () => notFound('key') });
  if (key.kind === 'management') assertMay(role, 'makeManagementKeys');
  assertMay(role, key.created_by === accountId ? 'useOwnKeys' : 'useAllKeys');
  // In a statement after the lock, because it may have been changed while this waited.
  const found = await client.query<SqlRow<typeof apiKeys> & { counts: boolean }>(
    `select k.*, ${keyCounts} as counts from api_keys k join workspaces w on w.id = k.workspace_id where k.id = $1`,
    [keyId],
  );
  const [present] = found.rows;
  if (present === undefined) throw notFound('key');
  return {
    workspaceId: key.workspace_id,
    createdBy: key.created_by,
    payerId,
    counts: present.counts,
    kind: key.kind,
    createdAt: key.created_at,
    policy,
    isAdmin: mayDo(role, 'useAllKeys'),
    locks: readLocks(present.locked_fields),
    before: {
      ...{ name: present.name, tag: present.tag, disabled: present.disabled_at !== null },
      credit_limit_usd: present.credit_limit_nusd === null ? null : nusdToUsd(BigInt(present.credit_limit_nusd)),
      ...{ openai_compatible: present.openai_compatible, allowed_models: present.allowed_models },
      ...{ requests_per_minute: present.limit_requests, tokens_per_minute: present.limit_tokens },
      expires_at: present.expires_at?.toISOString() ?? null,
    },
  };
}
