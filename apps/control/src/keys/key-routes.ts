import { readJsonBody } from '@sotto/http';
import { type Nusd, usdToNusd } from '@sotto/money';
import {
  createKeySchema,
  type KeyAnswer,
  keyListQuerySchema,
  parseRequest,
  ServiceError,
  updateKeySchema,
} from '@sotto/wire';
import type { FastifyInstance } from 'fastify';
import { requireSession, type SessionDependencies } from '../credentials/session-credentials.ts';
import { inTransaction } from '../database/in-transaction.ts';
import { projectKeys } from '../projection/project-keys.ts';
import type { Projector } from '../projection/projector.ts';
import { isUuid } from '../workspaces/path-ids.ts';
import { lockWorkspace, requireWorkspace } from '../workspaces/workspace-access.ts';
import { lockKey, unknownKey } from './key-access.ts';
import { insertKey, listKeys, revokeKey, updateKey } from './key-store.ts';

export interface KeyRoutesDependencies {
  readonly sessions: SessionDependencies;
  readonly projector: Projector;
}

/** `/v1/keys` (design 6, "keys by session"). The secret of a key is in the answer that makes it, and never again. */
export function registerKeys(app: FastifyInstance, { sessions, projector }: KeyRoutesDependencies): void {
  const { pool } = sessions;

  app.get('/v1/keys', async (request, reply) => {
    const { accountId } = await requireSession(sessions, request);
    const { workspace_id: workspaceId } = parseRequest(keyListQuerySchema, request.query);
    reply.header('cache-control', 'no-store');
    if (workspaceId === undefined) return { data: await listKeys(pool, { accountId }) };
    await requireWorkspace(pool, { accountId, workspaceId, action: 'read' });
    return { data: await listKeys(pool, { workspaceId }) };
  });

  app.post('/v1/keys', async (request, reply): Promise<KeyAnswer> => {
    const { accountId } = await requireSession(sessions, request);
    const asked = parseRequest(createKeySchema, readJsonBody(request.body));
    const creditLimitNusd = readLimit(asked.credit_limit_usd) ?? undefined;
    const key = await inTransaction(pool, async (client) => {
      const workspace = await lockWorkspace(client, {
        accountId,
        workspaceId: asked.workspace_id,
        action: asked.kind === 'management' ? 'makeManagementKeys' : 'useOwnKeys',
      });
      return insertKey(client, {
        accountId: workspace.accountId,
        createdBy: accountId,
        workspaceId: workspace.id,
        kind: asked.kind,
        name: asked.name,
        creditLimitNusd,
        openaiCompatible: asked.openai_compatible ?? true,
      });
    });
    // The secret is shown now or never, so an answer does not wait for a state that is away.
    await projectKeys(projector, [key.id]);
    reply.code(201).header('cache-control', 'no-store');
    return key;
  });

  app.patch<{ Params: { id: string } }>('/v1/keys/:id', async (request, reply) => {
    const { accountId } = await requireSession(sessions, request);
    const asked = parseRequest(updateKeySchema, readJsonBody(request.body));
    const change = {
      name: asked.name,
      openaiCompatible: asked.openai_compatible,
      creditLimitNusd: readLimit(asked.credit_limit_usd),
    };
    const id = readId(request.params.id);
    const key = await inTransaction(pool, async (client) => {
      await lockKey(client, accountId, id);
      return updateKey(client, id, change);
    });
    if (key === undefined) throw unknownKey();
    await projector.key(id);
    reply.header('cache-control', 'no-store');
    return key;
  });

  app.delete<{ Params: { id: string } }>('/v1/keys/:id', async (request, reply) => {
    const { accountId } = await requireSession(sessions, request);
    const id = readId(request.params.id);
    await inTransaction(pool, async (client) => {
      await lockKey(client, accountId, id);
      await revokeKey(client, id);
    });
    await projector.key(id);
    return reply.code(204).send();
  });
}

function readId(text: string): string {
  if (!isUuid(text)) throw unknownKey();
  return text;
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
