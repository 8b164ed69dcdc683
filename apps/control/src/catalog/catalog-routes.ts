import { catalogContracts } from '@sotto/contract/control';
import { bestOfBand, modelList } from '@sotto/router';
import {
  type CapabilitiesAnswer,
  initialPreferences,
  type ModelListAnswer,
  type Preferences,
  ServiceError,
} from '@sotto/wire';
import type { Serve } from '../serve/serve.ts';
import type { CatalogKeeper } from './catalog-keeper.ts';
import { uptimeOf } from './uptime.ts';

export interface CatalogRoutesDependencies {
  readonly keeper: CatalogKeeper;
  readonly capabilities: () => CapabilitiesAnswer;
}

/** Serves models, how their routes do, and what this deployment offers. */
export function serveCatalog(serve: Serve, { keeper, capabilities }: CatalogRoutesDependencies): void {
  serve(catalogContracts)({
    'GET /v1/models': async ({ caller }) => listModels(keeper, caller.preferences),
    'GET /v1/catalog/models': async () => ({
      ...listModels(keeper, initialPreferences),
      catalog_digest: `sha256:${keeper.catalog?.digest}`,
    }),
    'GET /v1/capabilities': async () => capabilities(),

    'GET /v1/models/uptime': async ({ query: { model: id } }) => {
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
      return uptimeOf(model, keeper.measured);
    },
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
