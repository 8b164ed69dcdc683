import { bestOfBand, modelList } from '@sotto/router';
import {
  type CapabilitiesAnswer,
  initialPreferences,
  type ModelListAnswer,
  type Preferences,
  ServiceError,
} from '@sotto/wire';
import type { FastifyInstance } from 'fastify';
import { type ApiCredentials, requireKey } from '../credentials/api-credentials.ts';
import type { CatalogKeeper } from './catalog-keeper.ts';
import { uptimeOf } from './uptime.ts';

export interface CatalogRoutesDependencies {
  readonly credentials: ApiCredentials;
  readonly keeper: CatalogKeeper;
  readonly capabilities: () => CapabilitiesAnswer;
}

const publicCache = 'public, max-age=60, stale-while-revalidate=600';

/** `/v1/models`, `/v1/catalog/models`, `/v1/models/uptime` and `/v1/capabilities` (interface 4.1). */
export function registerCatalog(
  app: FastifyInstance,
  { credentials, keeper, capabilities }: CatalogRoutesDependencies,
): void {
  app.get('/v1/models', async (request, reply) => {
    const key = await requireKey(credentials, request, ['inference', 'management']);
    reply.header('cache-control', 'no-store');
    return listModels(keeper, key.preferences);
  });

  app.get('/v1/catalog/models', async (_request, reply) => {
    const list = listModels(keeper, initialPreferences);
    reply.header('cache-control', publicCache).header('access-control-allow-origin', '*');
    return { ...list, catalog_digest: `sha256:${keeper.catalog?.digest}` };
  });

  app.get<{ Querystring: { model?: string | string[] } }>('/v1/models/uptime', async (request, reply) => {
    const id = request.query.model;
    if (typeof id !== 'string' || id === '') throw new ServiceError('missing_model', { param: 'model' });
    const { catalog } = keeper;
    if (catalog === undefined) throw new ServiceError('service_unavailable');
    const model = catalog.models.get(id);
    if (model === undefined || model.routes.length === 0) {
      throw new ServiceError('model_not_found', {
        message: `The model \`${id.slice(0, 256)}\` does not exist or is not enabled.`,
        param: 'model',
      });
    }
    reply.header('cache-control', publicCache).header('access-control-allow-origin', '*');
    return uptimeOf(model, keeper.measured);
  });

  app.get('/v1/capabilities', async (_request, reply) => {
    reply.header('cache-control', publicCache).header('access-control-allow-origin', '*');
    return capabilities();
  });
}

function listModels(keeper: CatalogKeeper, preferences: Preferences): ModelListAnswer {
  const { catalog } = keeper;
  if (catalog === undefined) throw new ServiceError('service_unavailable');
  return modelList(
    { catalog, preferences, status: keeper.status(), random: bestOfBand },
    Math.floor(catalog.version / 1000),
  );
}
