import { type Contracts, contracts } from '@sotto/contract';
import { createServer } from '@sotto/server';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { type ServeDependencies, serving } from './serve.ts';

const thing = z.strictObject({ name: z.string() });
const routes = contracts({
  'POST /v1/things/{id}': {
    operationId: 'makeThing',
    summary: 'Make a thing',
    credentials: [],
    params: { id: { note: 'An id.', id: 'key' } },
    query: z.strictObject({ times: z.coerce.number().optional() }),
    body: thing,
    status: 201,
    answer: z.strictObject({ said: z.string() }),
    returns: 'What it said.',
  },
  'POST /v1/names/{name}': {
    operationId: 'nameThing',
    summary: 'Name a thing',
    credentials: [],
    params: { name: { note: 'A name.', maxLength: 40 } },
    status: 204,
    returns: 'Named.',
  },
  'DELETE /v1/things': {
    operationId: 'deleteThings',
    summary: 'Delete them',
    credentials: [],
    status: 204,
    returns: 'They are gone.',
  },
  'GET /v1/things': {
    operationId: 'listThings',
    summary: 'Things',
    credentials: [],
    cache: 'public',
    answer: z.strictObject({ data: z.array(thing) }),
    returns: 'The things.',
  },
});

const id = '00000000-0000-4000-8000-00000000000A';

/** Without functions that read credentials, because these routes take none. */
function appOf() {
  const app = createServer({
    bodyLimit: 1024,
    bodyBudget: 1024,
    maxHeaderBytes: 16_384,
    trustProxy: false,
    isOpenToPages: () => false,
    onShed: () => {},
    onUnexpected: () => {},
  });
  const serve = serving(app, { limits: { minting: {}, outgoing: {}, uncounted: {} } } as ServeDependencies);
  serve(routes)({
    'POST /v1/things/{id}': async ({ params, query, body }) => ({
      said: `${body.name} ${params.id} ${query.times ?? 1}`,
    }),
    'POST /v1/names/{name}': async () => {},
    'DELETE /v1/things': async () => {},
    'GET /v1/things': async () => ({ data: [] }),
  });
  return app;
}

const post = (url: string, body: unknown) =>
  appOf().inject({
    method: 'POST',
    url,
    headers: { 'content-type': 'application/json' },
    payload: JSON.stringify(body),
  });

describe('a route by its contract', () => {
  it('passes parsed parameters, query and body to its handler, and answers with its status', async () => {
    const answer = await post(`/v1/things/${id}?times=3`, { name: 'bell' });
    expect(answer.statusCode).toBe(201);
    expect(answer.json()).toEqual({ said: `bell ${id.toLowerCase()} 3` });
    expect(answer.headers['cache-control']).toBe('no-store');
  });

  it.each([
    ['an id that cannot be one', '/v1/things/7', { name: 1 }, 404, 'not_found'],
    ['a name that is too long', `/v1/names/${'x'.repeat(41)}`, { name: 1 }, 404, 'not_found'],
    ['a name that nothing can have', '/v1/names/a%00b', { name: 1 }, 404, 'not_found'],
    ['half of a surrogate pair', `/v1/things/${id}`, { name: '\ud800' }, 400, 'invalid_request'],
    ['a NUL in the query', `/v1/things/${id}?times=%00`, { name: 'x' }, 400, 'invalid_request'],
    ['a wrong query', `/v1/things/${id}?times=often`, { name: 1 }, 400, 'invalid_request'],
    ['a wrong body', `/v1/things/${id}`, { name: 1 }, 400, 'invalid_request'],
  ])('rejects %s before its handler runs', async (_, url, body, status, type) => {
    const answer = await post(url, body);
    expect([answer.statusCode, answer.json()]).toMatchObject([status, { error: { type } }]);
  });

  it('without an answer sends an empty body', async () => {
    const answer = await appOf().inject({ method: 'DELETE', url: '/v1/things' });
    expect([answer.statusCode, answer.body]).toEqual([204, '']);
  });

  it('with a public answer may be cached, and read by every page', async () => {
    const { headers } = await appOf().inject({ url: '/v1/things' });
    expect(headers['cache-control']).toMatch(/^public/);
    expect(headers['access-control-allow-origin']).toBe('*');
  });

  it('does not compile without its handler, or with an answer of another shape', () => {
    const serve = serving(appOf(), { limits: {} } as ServeDependencies);
    const only = { 'GET /v1/other': routes['GET /v1/things'] } as const satisfies Contracts;
    // @ts-expect-error a handler is missing
    expect(() => serve(only)({})).toThrow('GET /v1/other has no handler');
    // @ts-expect-error the answer lacks `data`
    expect(() => serve(only)({ 'GET /v1/other': async () => ({ list: [] }) })).not.toThrow();
  });

  it('is not served with credentials that no code would check', () => {
    const serve = serving(appOf(), { limits: {} } as ServeDependencies);
    for (const credentials of [['session', 'managementKey'], ['accessToken'], ['ticket']] as const) {
      const only = contracts({ 'GET /v1/other': { ...routes['GET /v1/things'], credentials } });
      expect(() => serve(only)({ 'GET /v1/other': async () => ({ data: [] }) })).toThrow('does not check');
    }
  });
});
