import { createHash } from 'node:crypto';
import { referencePage, referenceStyle, type ShownOrigin } from '@sotto/contract';
import type { FastifyInstance } from 'fastify';

/** `GET /v1/docs`: the reference of both origins to read, written once. It may show itself in its one style and do nothing else. */
export function registerReference(app: FastifyInstance, origins: readonly ShownOrigin[]): void {
  const page = referencePage(origins);
  const style = createHash('sha256').update(referenceStyle).digest('base64');
  const policy = `default-src 'none'; style-src 'sha256-${style}'; base-uri 'none'; frame-ancestors 'none'; form-action 'none'`;
  app.get('/v1/docs', async (_request, reply) => {
    reply
      .type('text/html; charset=utf-8')
      .header('content-security-policy', policy)
      .header('referrer-policy', 'no-referrer')
      .header('cache-control', 'no-cache');
    return page;
  });
}
