import type { PathOf, serviceContracts } from '@sotto/contract';
import Fastify, { type FastifyInstance } from 'fastify';
import { PublicAnswer } from './answers/public-answer.ts';

type Path = PathOf<typeof serviceContracts>;

/**
 * Registers `GET /healthz` (the process is alive) and `GET /readyz` (it can serve). Both exist on every origin, without
 * `/v1`.
 */
export function registerHealth(app: FastifyInstance, isReady: () => Promise<boolean>): void {
  app.get('/healthz' satisfies Path, async (_request, reply) => {
    reply.header('cache-control', 'no-store');
    return { status: 'ok' };
  });
  app.get('/readyz' satisfies Path, async (_request, reply) => {
    const ready = await isReady();
    reply.code(ready ? 200 : 503).header('cache-control', 'no-store');
    if (!ready) reply.header('retry-after', '1');
    return { status: ready ? 'ready' : 'not_ready' };
  });
}

/** Registers `GET /v1/openapi.json`, the description of an origin. It is serialized once. */
export function registerOpenApi(app: FastifyInstance, document: object): void {
  const answer = new PublicAnswer(JSON.stringify(document));
  app.get('/v1/openapi.json' satisfies Path, (request, reply) => {
    reply
      .header('cache-control', 'public, max-age=60, stale-while-revalidate=600')
      .header('access-control-allow-origin', '*');
    return answer.send(request, reply);
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
