import type { WorkspaceAnswer } from '@sotto/wire';
import type { FastifyInstance } from 'fastify';
import { requireSession, type SessionDependencies } from '../credentials/session-credentials.ts';

interface Row {
  id: string;
  name: string;
  is_default: boolean;
  created_at: Date;
}

/** `GET /v1/workspaces` (interface 4.4). Every account has a default one. */
export function registerWorkspaces(app: FastifyInstance, sessions: SessionDependencies): void {
  app.get('/v1/workspaces', async (request, reply): Promise<{ data: WorkspaceAnswer[] }> => {
    const { accountId } = await requireSession(sessions, request);
    const { rows } = await sessions.pool.query<Row>(
      'select id, name, is_default, created_at from workspaces where account_id = $1 order by is_default desc, created_at, id',
      [accountId],
    );
    reply.header('cache-control', 'no-store');
    return {
      data: rows.map((row) => ({
        id: row.id,
        name: row.name,
        is_default: row.is_default,
        created_at: row.created_at.toISOString(),
      })),
    };
  });
}
