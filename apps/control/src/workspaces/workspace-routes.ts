import { readJsonBody } from '@sotto/http';
import { parseRequest, type WorkspaceAnswer, workspaceNameSchema } from '@sotto/wire';
import type { FastifyInstance } from 'fastify';
import { requireSession, type SessionDependencies } from '../credentials/session-credentials.ts';
import { projectKeys } from '../projection/project-keys.ts';
import type { Projector } from '../projection/projector.ts';
import { readWorkspaceId } from './path-ids.ts';
import { createWorkspace, deleteWorkspace, listWorkspaces, renameWorkspace } from './workspace-store.ts';

export interface WorkspaceRoutesDependencies {
  readonly sessions: SessionDependencies;
  readonly projector: Projector;
}

interface OfWorkspace {
  Params: { id: string };
}

/** `/v1/workspaces` (interface 4.4). Every account has a default one. */
export function registerWorkspaces(app: FastifyInstance, { sessions, projector }: WorkspaceRoutesDependencies): void {
  const { pool } = sessions;

  app.get('/v1/workspaces', async (request, reply): Promise<{ data: WorkspaceAnswer[] }> => {
    const { accountId } = await requireSession(sessions, request);
    reply.header('cache-control', 'no-store');
    return { data: await listWorkspaces(pool, accountId) };
  });

  app.post('/v1/workspaces', async (request, reply): Promise<WorkspaceAnswer> => {
    const { accountId } = await requireSession(sessions, request);
    const { name } = parseRequest(workspaceNameSchema, readJsonBody(request.body));
    const made = await createWorkspace(pool, accountId, name);
    reply.code(201).header('cache-control', 'no-store');
    return made;
  });

  app.patch<OfWorkspace>('/v1/workspaces/:id', async (request, reply): Promise<WorkspaceAnswer> => {
    const { accountId } = await requireSession(sessions, request);
    const workspaceId = readWorkspaceId(request.params.id);
    const { name } = parseRequest(workspaceNameSchema, readJsonBody(request.body));
    reply.header('cache-control', 'no-store');
    return renameWorkspace(pool, { accountId, workspaceId }, name);
  });

  app.delete<OfWorkspace>('/v1/workspaces/:id', async (request, reply) => {
    const { accountId } = await requireSession(sessions, request);
    const workspaceId = readWorkspaceId(request.params.id);
    await projectKeys(projector, await deleteWorkspace(pool, { accountId, workspaceId }));
    return reply.code(204).send();
  });
}
