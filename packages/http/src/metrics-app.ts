import Fastify, { type FastifyInstance } from 'fastify';

/** What Prometheus reads of a process; a registry of `prom-client` is one. */
export interface MetricsSource {
  readonly contentType: string;
  metrics(): Promise<string>;
}

/** What a process' metrics are read from: `GET /metrics`, to be listened for on a port that is not for the world. */
export function createMetricsApp(sources: readonly MetricsSource[]): FastifyInstance {
  const app = Fastify({ logger: false, exposeHeadRoutes: false, forceCloseConnections: true });
  app.get('/metrics', async (_request, reply) => {
    const texts = await Promise.all(sources.map((source) => source.metrics()));
    return reply.header('content-type', sources[0]?.contentType ?? 'text/plain').send(texts.join('\n'));
  });
  return app;
}
