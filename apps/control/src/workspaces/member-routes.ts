import { readJsonBody } from '@sotto/http';
import { memberRoleSchema, parseRequest } from '@sotto/wire';
import type { FastifyInstance } from 'fastify';
import { requireSession } from '../credentials/session-credentials.ts';
import { projectKeys } from '../projection/project-keys.ts';
import { changeRole, listMembers, type OfMember, removeMember, unknownMember } from './member-store.ts';
import { isUuid, readWorkspaceId } from './path-ids.ts';
import type { WorkspaceRoutesDependencies } from './workspace-routes.ts';

interface Params {
  id: string;
  memberId: string;
}

/** `/v1/workspaces/:id/members`: who is in a workspace, what they may do, and how they go. A member is an account's id. */
export function registerMembers(app: FastifyInstance, { sessions, projector }: WorkspaceRoutesDependencies): void {
  const { pool } = sessions;

  app.get<{ Params: Pick<Params, 'id'> }>('/v1/workspaces/:id/members', async (request, reply) => {
    const { accountId } = await requireSession(sessions, request);
    const workspaceId = readWorkspaceId(request.params.id);
    reply.header('cache-control', 'no-store');
    return { data: await listMembers(pool, { accountId, workspaceId }) };
  });

  app.patch<{ Params: Params }>('/v1/workspaces/:id/members/:memberId', async (request, reply) => {
    const { accountId } = await requireSession(sessions, request);
    const { role } = parseRequest(memberRoleSchema, readJsonBody(request.body));
    const { member, keyIds } = await changeRole(pool, readMember(accountId, request.params), role);
    await projectKeys(projector, keyIds);
    reply.header('cache-control', 'no-store');
    return member;
  });

  app.delete<{ Params: Params }>('/v1/workspaces/:id/members/:memberId', async (request, reply) => {
    const { accountId } = await requireSession(sessions, request);
    await projectKeys(projector, await removeMember(pool, readMember(accountId, request.params)));
    return reply.code(204).send();
  });
}

function readMember(accountId: string, { id, memberId }: Params): OfMember {
  const workspaceId = readWorkspaceId(id);
  if (!isUuid(memberId)) throw unknownMember();
  return { accountId, workspaceId, memberId: memberId.toLowerCase() };
}
