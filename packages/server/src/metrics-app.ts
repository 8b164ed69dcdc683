import Fastify, { type FastifyInstance } from 'fastify';

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
