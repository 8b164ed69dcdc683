import type { FastifyInstance } from 'fastify';

/** `GET /v1/openapi.json`: the description of an origin, written once. */
export function registerOpenApi(app: FastifyInstance, document: object): void {
  const text = JSON.stringify(document);
  app.get('/v1/openapi.json', async (_request, reply) => {
    reply
      .header('cache-control', 'public, max-age=60, stale-while-revalidate=600')
      .header('access-control-allow-origin', '*')
      .type('application/json; charset=utf-8');
    return text;
  });
}
