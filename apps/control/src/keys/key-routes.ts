import { readJsonBody } from '@sotto/http';
import { type Nusd, usdToNusd } from '@sotto/money';
import { StateUnavailableError } from '@sotto/state';
import { createKeySchema, type KeyAnswer, parseRequest, ServiceError, updateKeySchema } from '@sotto/wire';
import type { FastifyInstance } from 'fastify';
import type { SessionDependencies } from '../credentials/session-credentials.ts';
import { requireSession } from '../credentials/session-credentials.ts';
import type { Projector } from '../projection/projector.ts';
import { insertKey, listKeys, revokeKey, updateKey } from './key-store.ts';

export interface KeyRoutesDependencies {
  readonly sessions: SessionDependencies;
  readonly projector: Projector;
}

const uuidPattern = /^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/i;

/** `/v1/keys` (design 6, "keys by session"). The secret of a key is in the answer that makes it, and never again. */
export function registerKeys(app: FastifyInstance, { sessions, projector }: KeyRoutesDependencies): void {
  const { pool } = sessions;

  app.get('/v1/keys', async (request, reply) => {
    const { accountId } = await requireSession(sessions, request);
    reply.header('cache-control', 'no-store');
    return { data: await listKeys(pool, accountId) };
  });

  app.post('/v1/keys', async (request, reply): Promise<KeyAnswer> => {
    const account = await requireSession(sessions, request);
    const asked = parseRequest(createKeySchema, readJsonBody(request.body));
    const workspaceId = asked.workspace_id ?? account.defaultWorkspaceId;
    const owned = await pool.query('select 1 from workspaces where id = $1 and account_id = $2', [
      workspaceId,
      account.accountId,
    ]);
    if (owned.rowCount === 0) {
      throw new ServiceError('not_found', { message: 'This account has no such workspace.', param: 'workspace_id' });
    }
    const key = await insertKey(pool, {
      accountId: account.accountId,
      workspaceId,
      kind: asked.kind,
      name: asked.name,
      creditLimitNusd: readLimit(asked.credit_limit_usd) ?? undefined,
      openaiCompatible: asked.openai_compatible ?? true,
    });
    // The secret is shown now or never: where the state is away, the key is projected with whatever else has changed.
    await projector.key(key.id).catch((error: unknown) => {
      if (!(error instanceof StateUnavailableError)) throw error;
    });
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
    const key = await updateKey(pool, accountId, id, change);
    if (key === undefined) throw unknownKey();
    await projector.key(id);
    reply.header('cache-control', 'no-store');
    return key;
  });

  app.delete<{ Params: { id: string } }>('/v1/keys/:id', async (request, reply) => {
    const { accountId } = await requireSession(sessions, request);
    const id = readId(request.params.id);
    if (!(await revokeKey(pool, accountId, id))) throw unknownKey();
    await projector.key(id);
    return reply.code(204).send();
  });
}

const unknownKey = (): ServiceError => new ServiceError('not_found', { message: 'This account has no such key.' });

function readId(text: string): string {
  if (!uuidPattern.test(text)) throw unknownKey();
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
