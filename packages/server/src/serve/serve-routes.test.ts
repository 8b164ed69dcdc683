import { type Contracts, contracts } from '@sotto/contract';
import { ServiceError } from '@sotto/wire';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { createServer } from '../server.ts';
import { serveRoutes } from './serve-routes.ts';

const routes = contracts({
  'POST /v1/streams': {
    operationId: 'makeStream',
    summary: 'Make a stream',
    credentials: ['ticket'],
    isRaw: true,
    body: z.strictObject({ name: z.string() }),
    answer: z.strictObject({ said: z.string() }),
    returns: 'What it said.',
  },
  'POST /v1/things': {
    operationId: 'makeThing',
    summary: 'Make a thing',
    credentials: ['ticket'],
    body: z.strictObject({ name: z.string() }),
    answer: z.strictObject({ said: z.string() }),
    returns: 'What it said.',
  },
});

/** A server whose routes need a ticket before they read a body. */
function appOf() {
  const app = createServer({
    ...{ bodyLimit: 1024, bodyBudget: 1024, maxHeaderBytes: 16_384, trustProxy: false },
    ...{ isOpenToPages: () => false, onShed: () => {}, onUnexpected: () => {} },
  });
  const config = {
    beforeBody: async ({ headers }: { readonly headers: object }) => {
      if (!('x-router-ticket' in headers)) throw new ServiceError('ticket_required');
    },
  };
  serveRoutes(app)(routes)({
    'POST /v1/streams': {
      config,
      handler: async ({ request, reply }) => {
        reply.hijack();
        reply.raw.writeHead(200, { 'x-bytes': String((request.body as Buffer).length) }).end('streamed');
        return reply;
      },
    },
    'POST /v1/things': { config, handler: async ({ body }) => ({ said: body.name }) },
  });
  return app;
}

const post = (url: string, payload: string, ticket: object = { 'x-router-ticket': 'one' }) =>
  appOf().inject({ method: 'POST', url, headers: { 'content-type': 'application/json', ...ticket }, payload });

describe('a route whose handler reads its credential', () => {
  it.each(['/v1/streams', '/v1/things'])('rejects a request without one before its body is parsed: %s', async (url) => {
    const answer = await post(url, 'no JSON', {});
    expect([answer.statusCode, answer.json().error.type]).toEqual([401, 'ticket_required']);
  });

  it('passes the bytes of the body to a raw handler, which writes the whole answer', async () => {
    const { statusCode, headers, body } = await post('/v1/streams', 'no JSON');
    expect([statusCode, body, headers['x-bytes'], headers['cache-control']]).toEqual([200, 'streamed', '7', undefined]);
  });

  it('passes the parsed body to any other handler, and answers without caching', async () => {
    const answer = await post('/v1/things', '{"name":"bell"}');
    expect([answer.json(), answer.headers['cache-control']]).toEqual([{ said: 'bell' }, 'no-store']);
    expect((await post('/v1/things', '{"name":1}')).json().error.param).toBe('name');
  });

  it('does not compile without its handler, or with an answer of another shape', () => {
    const serve = serveRoutes(appOf());
    const raw = { 'POST /v1/others': routes['POST /v1/streams'] } as const satisfies Contracts;
    const parsed = { 'POST /v1/others': routes['POST /v1/things'] } as const satisfies Contracts;
    // @ts-expect-error a handler is missing
    expect(() => serve(raw)({})).toThrow('POST /v1/others has no handler');
    // @ts-expect-error the answer lacks `said`
    expect(() => serve(parsed)({ 'POST /v1/others': async () => ({ told: '' }) })).not.toThrow();
    // @ts-expect-error a raw handler returns its reply
    const second = () => serveRoutes(appOf())(raw)({ 'POST /v1/others': { handler: async () => ({ said: '' }) } });
    expect(second).not.toThrow();
  });
});
