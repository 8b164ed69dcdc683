import type { FastifyInstance } from 'fastify';

/**
 * Lets pages of any origin call the paths that `isOpen` accepts. Use it only for paths whose credential is a header.
 * With `*`, browsers let a page read a response only if the request had no cookies. So a page can do no more than a
 * program with the same key or ticket. The headers are set on the raw response, because some responses bypass Fastify.
 */
export function openToPages(app: FastifyInstance, isOpen: (path: string) => boolean): void {
  app.addHook('onRequest', (request, reply, done) => {
    if (request.headers.origin === undefined || !isOpen(request.url.split('?')[0] ?? '')) return done();
    const { raw } = reply;
    raw.setHeader('access-control-allow-origin', '*');
    raw.setHeader('access-control-expose-headers', '*');
    if (request.method !== 'OPTIONS' || request.headers['access-control-request-method'] === undefined) return done();
    raw.setHeader('access-control-allow-methods', 'GET, POST');
    // The wildcard covers every header except `authorization`.
    raw.setHeader('access-control-allow-headers', 'authorization, *');
    raw.setHeader('access-control-max-age', '86400');
    void reply.code(204).send();
  });
}
