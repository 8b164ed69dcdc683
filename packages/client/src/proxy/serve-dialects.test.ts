import { expect, it } from 'vitest';
import { makeDialects } from './serve-dialects.ts';
import { writtenAnswer } from './serve-translation.ts';

it('answers a malformed escape in the name of a model as one that does not exist', async () => {
  const body = JSON.stringify({ object: 'list', data: [] });
  const serve = makeDialects({
    exchange: {
      ask: async () => writtenAnswer({ status: 200, headers: { 'content-type': 'application/json' }, body }),
    },
    models: { rules: [], fallback: undefined },
    onNote: () => undefined,
  });
  const { signal } = new AbortController();
  const asked = { method: 'GET', path: '/v1beta/models/%', header: () => undefined, body: '', signal };
  expect((await serve(asked)).status).toBe(404);
});
