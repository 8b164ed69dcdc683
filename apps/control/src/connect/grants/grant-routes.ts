import { type GrantAnswer, grantListQuerySchema, parseRequest } from '@sotto/wire';
import type { FastifyInstance } from 'fastify';
import { requireSession, type SessionDependencies } from '../../credentials/session-credentials.ts';
import { inTransaction } from '../../database/in-transaction.ts';
import { projectKeys } from '../../projection/project-keys.ts';
import type { Projector } from '../../projection/projector.ts';
import { isUuid } from '../../workspaces/path-ids.ts';
import { requireWorkspace } from '../../workspaces/workspace-access.ts';
import { disconnect, listGrants, unknownGrant } from './grant-store.ts';

export interface GrantRoutesDependencies {
  readonly sessions: SessionDependencies;
  readonly projector: Projector;
}

/** `/v1/connect/grants` (interface 4.6): what a person has allowed apps, and how they take it back. */
export function registerGrants(app: FastifyInstance, { sessions, projector }: GrantRoutesDependencies): void {
  const { pool } = sessions;

  app.get('/v1/connect/grants', async (request, reply): Promise<{ data: GrantAnswer[] }> => {
    const { accountId } = await requireSession(sessions, request);
    const { workspace_id: workspaceId } = parseRequest(grantListQuerySchema, request.query);
    reply.header('cache-control', 'no-store');
    if (workspaceId === undefined) return { data: await listGrants(pool, { accountId }) };
    await requireWorkspace(pool, { accountId, workspaceId, action: 'read' });
    return { data: await listGrants(pool, { workspaceId }) };
  });

  app.delete<{ Params: { id: string } }>('/v1/connect/grants/:id', async (request, reply) => {
    const { accountId } = await requireSession(sessions, request);
    const grantId = request.params.id;
    if (!isUuid(grantId)) throw unknownGrant();
    const keyIds = await inTransaction(pool, (client) => disconnect(client, { accountId, grantId }));
    await projectKeys(projector, keyIds);
    return reply.code(204).send();
  });
}
