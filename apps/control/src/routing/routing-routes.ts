import { readJsonBody } from '@sotto/http';
import { bestOfBand, type PlanningContext, readPreferences } from '@sotto/router';
import {
  eligibleModelsSchema,
  type Preferences,
  parseRequest,
  routingPreviewSchema,
  ServiceError,
  workspaceQuerySchema,
} from '@sotto/wire';
import type { FastifyInstance } from 'fastify';
import type { CatalogKeeper } from '../catalog/catalog-keeper.ts';
import { type ApiCredentials, requireKey } from '../credentials/api-credentials.ts';
import { requireSession, type SessionDependencies } from '../credentials/session-credentials.ts';
import { projectKeys } from '../projection/project-keys.ts';
import type { Projector } from '../projection/projector.ts';
import { putWorkspacePreferences, readWorkspacePreferences } from './preferences-store.ts';
import { eligibleModels, previewRouting } from './preview.ts';

export interface RoutingRoutesDependencies {
  readonly sessions: SessionDependencies;
  readonly credentials: ApiCredentials;
  readonly keeper: CatalogKeeper;
  readonly projector: Projector;
}

/** `/v1/routing/*` (interface 4.3): preferences, what they allow, and what a request would get. */
export function registerRouting(
  app: FastifyInstance,
  { sessions, credentials, keeper, projector }: RoutingRoutesDependencies,
): void {
  const { pool } = sessions;
  const contextOf = (preferences: Preferences): PlanningContext => {
    const { catalog } = keeper;
    if (catalog === undefined) throw new ServiceError('service_unavailable');
    return { catalog, preferences, status: keeper.status(), random: bestOfBand };
  };

  app.get('/v1/routing/preferences', async (request, reply) => {
    const { accountId } = await requireSession(sessions, request);
    const { workspace_id } = parseRequest(workspaceQuerySchema, request.query);
    reply.header('cache-control', 'no-store');
    return readWorkspacePreferences(pool, accountId, workspace_id);
  });

  app.put('/v1/routing/preferences', async (request, reply) => {
    const { accountId } = await requireSession(sessions, request);
    const { workspace_id: workspaceId } = parseRequest(workspaceQuerySchema, request.query);
    const put = { accountId, workspaceId, sent: readJsonBody(request.body) };
    const { preferences, keyIds } = await putWorkspacePreferences(pool, put);
    // Every broker has them when this answers; where the state is away, as soon as it is back.
    await projectKeys(projector, keyIds);
    reply.header('cache-control', 'no-store');
    return preferences;
  });

  app.get('/v1/routing/effective', async (request, reply) => {
    const { preferences } = await requireKey(credentials, request, ['inference']);
    reply.header('cache-control', 'no-store');
    return { preferences, ...eligibleModels(contextOf(preferences)) };
  });

  app.post('/v1/routing/preview', async (request, reply) => {
    const { accountId } = await requireSession(sessions, request);
    const asked = parseRequest(routingPreviewSchema, readJsonBody(request.body));
    const saved = await readWorkspacePreferences(pool, accountId, asked.workspace_id ?? undefined);
    reply.header('cache-control', 'no-store');
    return previewRouting(asked, contextOf(asked.preferences == null ? saved : draftOf(asked.preferences, saved)));
  });

  app.post('/v1/routing/eligible-models', async (request, reply) => {
    const { preferences } = parseRequest(eligibleModelsSchema, readJsonBody(request.body));
    reply.header('cache-control', 'no-store');
    return eligibleModels(contextOf(draftOf(preferences)));
  });
}

function draftOf(sent: unknown, kept?: Preferences): Preferences {
  const read = readPreferences(sent, kept);
  if (!read.ok) throw new ServiceError(read.refusal.type, read.refusal);
  return read.value;
}
