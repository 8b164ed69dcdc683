import { bearerToken } from '@sotto/http';
import { bestOfBand, modelList } from '@sotto/router';
import { ServiceError } from '@sotto/wire';
import type { FastifyInstance } from 'fastify';
import { type AdmissionDependencies, assertCompatible } from '../admission/admit.ts';
import { findKey } from '../admission/credential.ts';

/** `GET /v1/models` in compatibility mode (interface 4.1). Without a credential there is nothing here (interface 1). */
export function registerModels(app: FastifyInstance, deps: Pick<AdmissionDependencies, 'keys' | 'view'>): void {
  app.get('/v1/models', async (request, reply) => {
    const bearer = bearerToken(request);
    if (bearer === undefined) throw new ServiceError('not_found');
    const { key } = await findKey(deps, bearer, { fresh: true });
    // A management key lists models as well. Of an inference key it takes the access that requests need.
    if (key.record.kind === 'inference') assertCompatible(key);
    const { catalog } = deps.view;
    if (catalog === undefined) throw new ServiceError('service_unavailable');
    reply.header('cache-control', 'no-store').header('x-request-id', request.id);
    return modelList(
      { catalog, preferences: key.record.preferences, status: deps.view.status(), random: bestOfBand },
      Math.floor(catalog.version / 1000),
    );
  });
}
