import { randomUUID } from 'node:crypto';
import { controlOrigin } from '@sotto/contract/control';
import { describe, expect, it } from 'vitest';
import { verified } from './people.ts';
import { useWorld } from './world.ts';

const world = await useWorld({ connectedApps: true });
const { visitor } = await verified(world);

/** Texts that Postgres refuses, and one that is longer than any field may be. */
const texts = ['a\0b', '\ud800', 'ab\udc00c', 'x'.repeat(50_000)];

/** The path of a route with an id that nothing has, or with a given text instead of names that are no ids. */
const pathOf = (path: string, text: string = randomUUID()): string =>
  path.replace(/^\/v1/, '').replace(/\{(\w+)\}/g, (_, name: string) => (/id$/i.test(name) ? randomUUID() : text));

/** Copies of a value with one of its texts replaced. */
function* replaced(value: unknown, text: string): Generator<unknown> {
  if (typeof value === 'string') yield text;
  if (typeof value !== 'object' || value === null) return;
  const copy = (name: string, inner: unknown) =>
    Array.isArray(value) ? value.with(Number(name), inner) : { ...value, [name]: inner };
  for (const [name, inner] of Object.entries(value)) for (const each of replaced(inner, text)) yield copy(name, each);
}

const bodies = controlOrigin.routes.flatMap(({ method, path, body, credentials }) => {
  const example = body?.content[0]?.example;
  // Deleting the account or its sessions would end the other tests.
  const ends = /delete-account|revoke|sign-out/.test(path);
  return example === undefined || method === 'get' || ends ? [] : [{ method, path, example, credentials }];
});

describe('a text that cannot be stored, or is longer than its bound', () => {
  it.each(bodies)('is refused in the body of $method $path', async ({ method, path, example, credentials }) => {
    let tried = 0;
    for (const text of texts) {
      for (const body of replaced(example, text)) {
        const answer = await visitor.send(method.toUpperCase(), pathOf(path), body);
        expect(answer.status, `${JSON.stringify(body).slice(0, 200)}: ${answer.text}`).toBeLessThan(500);
        // 403: the result of a passkey is bounded as a whole, and this one is not asked for.
        if (credentials[0] === 'session') expect([400, 403, 404, 413]).toContain(answer.status);
        tried += 1;
      }
    }
    expect(tried > 0).toBe(/[:[]"/.test(JSON.stringify(example)));
  });

  it.each(controlOrigin.routes.filter(({ method, query }) => method === 'get' && query !== undefined))(
    'is refused in the query of $method $path',
    async ({ path, query }) => {
      for (const name of Object.keys(query?.shape ?? {})) {
        for (const text of ['a%00b', encodeURIComponent('x'.repeat(5000))]) {
          const answer = await visitor.get(`${pathOf(path)}?${name}=${text}`);
          // This control has no broker, so it has no models.
          const isNotReady = answer.status === 503 && path === '/v1/models/uptime';
          expect(isNotReady || [400, 401, 403, 404].includes(answer.status), `${name}: ${answer.text}`).toBe(true);
        }
      }
    },
  );

  it.each(controlOrigin.routes.filter(({ path }) => /\{/.test(path)))(
    'is refused in the path of $method $path',
    async ({ method, path }) => {
      const answer = await visitor.send(method.toUpperCase(), pathOf(path, 'a%00b'), method === 'get' ? undefined : {});
      expect(answer.status, answer.text).toBeLessThan(500);
    },
  );

  it('names the field and what is wrong with it', async () => {
    const answer = await visitor.post('/workspaces', { name: 'a\0b' });
    expect([answer.status, answer.json.error]).toEqual([
      400,
      expect.objectContaining({
        param: 'name',
        message: '`name` must not contain a NUL character or half of a surrogate pair.',
      }),
    ]);
  });

  it('is refused before a workspace keeps it in its preferences', async () => {
    const auto = { strategy: 'balanced', tiers: 'Private', models: { mode: 'only', ids: ['x'.repeat(257)] } };
    const long = await visitor.send('PUT', '/routing/preferences', { auto });
    expect([long.status, long.json.error.param]).toEqual([400, 'auto.models.ids.0']);
    const odd = { ...auto, models: { mode: 'only', ids: ['\ud800'] } };
    expect((await visitor.send('PUT', '/routing/preferences', { auto: odd })).status).toBe(400);
  });
});
