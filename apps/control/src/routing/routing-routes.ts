import { routingContracts } from '@sotto/contract/control';
import { bestOfBand, type PlanningContext, readPreferences } from '@sotto/router';
import { type Preferences, ServiceError } from '@sotto/wire';
import type pg from 'pg';
import type { CatalogKeeper } from '../catalog/catalog-keeper.ts';
import { projectKeys } from '../projection/project-keys.ts';
import type { Projector } from '../projection/projector.ts';
import type { Serve } from '../serve/serve.ts';
import { putWorkspacePreferences, readWorkspacePreferences } from './preferences-store.ts';
import { eligibleModels, previewRouting } from './preview.ts';

export interface RoutingRoutesDependencies {
  readonly pool: pg.Pool;
  readonly keeper: CatalogKeeper;
  readonly projector: Projector;
}

/** Serves preferences, what they allow, and what a request would get. */
export function serveRouting(serve: Serve, { pool, keeper, projector }: RoutingRoutesDependencies): void {
  const contextOf = (preferences: Preferences): PlanningContext => {
    const { catalog } = keeper;
    if (catalog === undefined) throw new ServiceError('service_unavailable');
    return { catalog, preferences, status: keeper.status(), random: bestOfBand };
  };
  serve(routingContracts)({
    'GET /v1/routing/preferences': ({ caller, query }) =>
      readWorkspacePreferences(pool, caller.accountId, query.workspace_id),

    'PUT /v1/routing/preferences': async ({ caller: { accountId }, query: { workspace_id: workspaceId }, body }) => {
      const { preferences, keyIds } = await putWorkspacePreferences(pool, { accountId, workspaceId, sent: body });
      // Every broker has them when this answers; where the state is away, as soon as it is back.
      await projectKeys(projector, keyIds);
      return preferences;
    },

    'GET /v1/routing/effective': async ({ caller: { preferences } }) => ({
      preferences,
      ...eligibleModels(contextOf(preferences)),
    }),

    'POST /v1/routing/preview': async ({ caller, body }) => {
      const saved = await readWorkspacePreferences(pool, caller.accountId, body.workspace_id ?? undefined);
      return previewRouting(body, contextOf(body.preferences == null ? saved : draftOf(body.preferences, saved)));
    },

    'POST /v1/routing/eligible-models': async ({ body }) => eligibleModels(contextOf(draftOf(body.preferences))),
  });
}

function draftOf(sent: unknown, kept?: Preferences): Preferences {
  const read = readPreferences(sent, kept);
  if (!read.ok) throw new ServiceError(read.refusal.type, read.refusal);
  return read.value;
}
