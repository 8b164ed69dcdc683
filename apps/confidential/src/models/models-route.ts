import { modelContracts } from '@sotto/contract/confidential/models';
import { bestOfBand, modelList } from '@sotto/router';
import { AnswerCache, bearerToken, serveRoutes } from '@sotto/server';
import { type ModelListAnswer, ServiceError } from '@sotto/wire';
import type { FastifyInstance } from 'fastify';
import { type AdmissionDependencies, assertCompatible } from '../admission/admit.ts';
import { findKey } from '../admission/credential.ts';

const withoutKey =
  'Here, the list of models needs an API key: send `Authorization: Bearer` and your inference key. ' +
  'GET /v1/catalog/models of the control origin needs none.';

/** Lists of models, which differ by preferences. Each may be a megabyte, and computing one takes as long as 30 requests. */
const keptLists = { keptMs: 2_000, most: 16 };

/**
 * Serves `GET /v1/models` for compatibility mode. Without an API key it answers 404, as if there were no such path.
 */
export function serveModels(app: FastifyInstance, deps: Pick<AdmissionDependencies, 'keys' | 'view'>): void {
  const lists = new AnswerCache<ModelListAnswer>({ ...keptLists, now: () => performance.now() });
  serveRoutes(app)(modelContracts)({
    'GET /v1/models': async ({ request, reply }) => {
      const bearer = bearerToken(request);
      if (bearer === undefined) throw new ServiceError('not_found', { message: withoutKey });
      const { key } = await findKey(deps, bearer, { fresh: true });
      // A management key may list models, too. An inference key needs the same access as for requests.
      if (key.record.kind === 'inference') assertCompatible(key);
      const { catalog } = deps.view;
      if (catalog === undefined) throw new ServiceError('service_unavailable');
      reply.header('x-request-id', request.id);
      const { preferences, allowedModels, workspaceModels } = key.record;
      return lists.get(catalog, JSON.stringify([preferences, allowedModels, workspaceModels]), () =>
        modelList(
          { catalog, preferences, status: deps.view.status(), random: bestOfBand },
          Math.floor(catalog.version / 1000),
          { allowedModels, workspaceModels },
        ),
      );
    },
  });
}
