import { afterEach, expect, it, vi } from 'vitest';
import { addressOf, call, callAll, callWith } from './call.ts';
import { ApiError } from './errors.ts';

afterEach(() => vi.unstubAllGlobals());

const answering = (...answers: readonly Response[]) => {
  const fetched = vi.fn<typeof fetch>();
  for (const answer of answers) fetched.mockResolvedValueOnce(answer);
  vi.stubGlobal('fetch', fetched);
  return fetched;
};

it('fills in the parameters of a path, and leaves out of its query what is undefined', () => {
  expect(
    addressOf('GET /v1/billing/receipts/{receiptNumber}', {
      params: { receiptNumber: 'a/1' },
      query: { format: 'pdf' },
    }),
  ).toBe('/v1/billing/receipts/a%2F1?format=pdf');
  expect(addressOf('GET /v1/usage', { query: { format: 'csv', key_id: undefined } })).toBe('/v1/usage?format=csv');
});

it('reads all pages of a list, each by the cursor of the one before', async () => {
  const page = (ids: readonly string[], next_cursor: string | null) =>
    Response.json({ data: ids.map((id) => ({ id })), next_cursor });
  const fetched = answering(page(['a', 'b'], 'c1'), page(['c'], 'c2'), page([], null));
  expect(await callAll('GET /v1/keys', { query: { workspace_id: 'w' } })).toEqual([
    { id: 'a' },
    { id: 'b' },
    { id: 'c' },
  ]);
  expect(fetched.mock.calls.map(([address]) => address)).toEqual([
    '/v1/keys?workspace_id=w&limit=500',
    '/v1/keys?workspace_id=w&limit=500&cursor=c1',
    '/v1/keys?workspace_id=w&limit=500&cursor=c2',
  ]);
});

it('sends a JSON body with all but GET and DELETE', async () => {
  const fetched = answering(new Response(null, { status: 204 }), Response.json({ data: [] }), Response.json({}));
  await call('DELETE /v1/keys/{id}', { params: { id: 'k' } });
  await call('GET /v1/keys');
  await call('POST /v1/auth/sign-out');
  expect(fetched.mock.calls.map(([address, init]) => [init?.method, address, init?.body])).toEqual([
    ['DELETE', '/v1/keys/k', undefined],
    ['GET', '/v1/keys', undefined],
    ['POST', '/v1/auth/sign-out', '{}'],
  ]);
});

it('throws what the service said, and `network` where no answer came', async () => {
  answering(
    Response.json(
      { error: { type: 'invalid_request', message: 'No.', param: 'name', request_id: 'r1' } },
      { status: 400, headers: { 'retry-after': '3' } },
    ),
  );
  await expect(call('GET /v1/keys')).rejects.toMatchObject({
    type: 'invalid_request',
    status: 400,
    message: 'No.',
    param: 'name',
    requestId: 'r1',
    retryAfterS: 3,
  });
  vi.stubGlobal('fetch', () => Promise.reject(new TypeError('no connection')));
  await expect(call('GET /v1/keys')).rejects.toEqual(expect.any(ApiError));
  await expect(call('GET /v1/keys')).rejects.toMatchObject({ type: 'network', status: 0 });
  const broken = new ReadableStream({ start: (controller) => controller.error(new TypeError('connection lost')) });
  vi.stubGlobal('fetch', () => Promise.resolve(new Response(broken)));
  await expect(call('GET /v1/keys')).rejects.toMatchObject({ type: 'network', status: 0 });
});

/** Never runs: the compiler is the test. */
export const compiled = () => [
  // @ts-expect-error no contract states this path
  call('GET /v1/key'),
  // @ts-expect-error the path has a parameter
  call('DELETE /v1/keys/{id}'),
  // @ts-expect-error the contract calls the parameter `id`
  call('DELETE /v1/keys/{id}', { params: { key: 'k' } }),
  // @ts-expect-error the query has no such name
  call('GET /v1/keys', { query: { workspace: 'w' } }),
  // @ts-expect-error the body lacks `kind`
  call('POST /v1/keys', { body: { name: 'n' } }),
  // @ts-expect-error the body has no such field
  callWith('POST /v1/auth/update-user', { surname: 'n' }),
  // @ts-expect-error the query has no such format
  addressOf('GET /v1/usage', { query: { format: 'xml' } }),
];
