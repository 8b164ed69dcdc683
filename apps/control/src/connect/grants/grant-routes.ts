import { grantContracts } from '@sotto/contract/control';
import type pg from 'pg';
import { inTransaction } from '../../database/in-transaction.ts';
import { projectKeys } from '../../projection/project-keys.ts';
import type { Projector } from '../../projection/projector.ts';
import type { Serve } from '../../serve/serve.ts';
import { requireWorkspace } from '../../workspaces/workspace-access.ts';
import { disconnect, listGrants } from './grant-store.ts';

export interface GrantRoutesDependencies {
  readonly pool: pg.Pool;
  readonly projector: Projector;
}

/** Serves what a person has allowed apps, and how they take it back. */
export function serveGrants(serve: Serve, { pool, projector }: GrantRoutesDependencies): void {
  serve(grantContracts)({
    'GET /v1/connect/grants': async ({ caller: { accountId }, query: { workspace_id: workspaceId } }) => {
      if (workspaceId === undefined) return { data: await listGrants(pool, { accountId }) };
      await requireWorkspace(pool, { accountId, workspaceId, action: 'read' });
      return { data: await listGrants(pool, { workspaceId }) };
    },

    'DELETE /v1/connect/grants/{id}': async ({ caller: { accountId }, params }) => {
      const keyIds = await inTransaction(pool, (client) => disconnect(client, { accountId, grantId: params.id }));
      await projectKeys(projector, keyIds);
    },
  });
}
