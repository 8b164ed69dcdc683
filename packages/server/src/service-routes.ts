import { descriptionContracts, healthContracts } from '@sotto/contract';
import Fastify, { type FastifyInstance } from 'fastify';
import { PublicAnswer } from './answers/public-answer.ts';
import { publicCache, serveRoutes } from './serve/serve-routes.ts';

/**
 * Serves `GET /healthz` (the process is alive) and `GET /readyz` (it can serve). Both exist on every origin, without
 * `/v1`.
 */
export const serveHealth = (app: FastifyInstance, isReady: () => Promise<boolean>): void =>
  serveRoutes(app)(healthContracts)({
    'GET /healthz': async () => ({ status: 'ok' }),
    'GET /readyz': async ({ reply }) => {
      if (await isReady()) return { status: 'ready' };
      reply.code(503).header('retry-after', '1');
      return { status: 'not_ready' };
    },
  });

/** Serves `GET /v1/openapi.json`, the description of an origin. It is serialized once. */
export function serveDescription(app: FastifyInstance, document: object): void {
  const answer = new PublicAnswer(JSON.stringify(document), { compressFirst: true });
  serveRoutes(app)(descriptionContracts)({
    'GET /v1/openapi.json': ({ request, reply }) => answer.send(request, reply.headers(publicCache)),
  });
}

/** Metrics of a process in Prometheus’ text format, such as a registry of `prom-client`. */
export interface MetricsSource {
  readonly contentType: string;
  metrics(): Promise<string>;
}

/** Creates the server for `GET /metrics`. It must listen on a port that is not public. */
export function createMetricsApp(sources: readonly MetricsSource[]): FastifyInstance {
  const app = Fastify({ logger: false, exposeHeadRoutes: false, forceCloseConnections: true });
  app.get('/metrics', async (_request, reply) => {
    const texts = await Promise.all(sources.map((source) => source.metrics()));
    return reply.header('content-type', sources[0]?.contentType ?? 'text/plain').send(texts.join('\n'));
  });
  return app;
}
