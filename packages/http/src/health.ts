import type { FastifyInstance } from 'fastify';

/** `GET /healthz` (the process lives) and `GET /readyz` (it can serve), on every origin, without `/v1`. */
export function registerHealth(app: FastifyInstance, isReady: () => Promise<boolean>): void {
  app.get('/healthz', async (_request, reply) => {
    reply.header('cache-control', 'no-store');
    return { status: 'ok' };
  });
  app.get('/readyz', async (_request, reply) => {
    const ready = await isReady();
    reply.code(ready ? 200 : 503).header('cache-control', 'no-store');
    if (!ready) reply.header('retry-after', '1');
    return { status: ready ? 'ready' : 'not_ready' };
  });
}
