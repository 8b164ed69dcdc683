import { keyContracts } from '@sotto/contract/control';
import { type Nusd, usdToNusd } from '@sotto/money';
import { ServiceError } from '@sotto/wire';
import type pg from 'pg';
import { inTransaction } from '../database/in-transaction.ts';
import { projectKeys } from '../projection/project-keys.ts';
import type { Projector } from '../projection/projector.ts';
import type { Serve } from '../serve/serve.ts';
import { unknown } from '../serve/unknown.ts';
import { lockWorkspace, requireWorkspace } from '../workspaces/workspace-access.ts';
import { lockKey } from './key-access.ts';
import { insertKey, listKeys, revokeKey, updateKey } from './key-store.ts';

export interface KeyRoutesDependencies {
  readonly pool: pg.Pool;
  readonly projector: Projector;
}

/** Serves the keys of an account. The secret of a key is in the answer that makes it, and never again. */
export function serveKeys(serve: Serve, { pool, projector }: KeyRoutesDependencies): void {
  serve(keyContracts)({
    'GET /v1/keys': async ({ caller: { accountId }, query: { workspace_id: workspaceId } }) => {
      if (workspaceId === undefined) return { data: await listKeys(pool, { accountId }) };
      await requireWorkspace(pool, { accountId, workspaceId, action: 'read' });
      return { data: await listKeys(pool, { workspaceId }) };
    },

    'POST /v1/keys': async ({ caller: { accountId }, body }) => {
      const creditLimitNusd = readLimit(body.credit_limit_usd) ?? undefined;
      const key = await inTransaction(pool, async (client) => {
        const workspace = await lockWorkspace(client, {
          accountId,
          workspaceId: body.workspace_id,
          action: body.kind === 'management' ? 'makeManagementKeys' : 'useOwnKeys',
        });
        return insertKey(client, {
          accountId: workspace.accountId,
          createdBy: accountId,
          workspaceId: workspace.id,
          kind: body.kind,
          name: body.name,
          creditLimitNusd,
          openaiCompatible: body.openai_compatible ?? true,
        });
      });
      // The secret is shown now or never, so an answer does not wait for a state that is away.
      await projectKeys(projector, [key.id]);
      return key;
    },

    'PATCH /v1/keys/{id}': async ({ caller: { accountId }, params: { id }, body }) => {
      const change = {
        name: body.name,
        openaiCompatible: body.openai_compatible,
        creditLimitNusd: readLimit(body.credit_limit_usd),
      };
      const key = await inTransaction(pool, async (client) => {
        await lockKey(client, accountId, id);
        return updateKey(client, id, change);
      });
      if (key === undefined) throw unknown('key');
      await projector.key(id);
      return key;
    },

    'DELETE /v1/keys/{id}': async ({ caller: { accountId }, params: { id } }) => {
      await inTransaction(pool, async (client) => {
        await lockKey(client, accountId, id);
        await revokeKey(client, id);
      });
      await projector.key(id);
    },
  });
}

/** A limit in USD as nano-USD; null removes it, undefined leaves it. */
function readLimit(usd: number | null | undefined): Nusd | null | undefined {
  if (usd == null) return usd;
  const nusd = usdToNusd(usd);
  if (nusd === undefined) {
    throw new ServiceError('invalid_request', {
      message: '`credit_limit_usd` takes at most nine decimals.',
      param: 'credit_limit_usd',
    });
  }
  return nusd;
}
