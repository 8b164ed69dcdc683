import { readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { adapterModelTypes } from '@sotto/router';
import { expect, it } from 'vitest';
import { loadAdapter } from './load-adapter.ts';

/** The files that load together with a file, by imports that are not only of types. */
function loadedWith(path: string, seen = new Set<string>()): Set<string> {
  if (seen.has(path)) return seen;
  seen.add(path);
  const source = readFileSync(path, 'utf8');
  for (const [, clause = '', name = ''] of source.matchAll(/^(?:import|export)\s([^;]*?)\sfrom\s'(\.[^']+)';/gms)) {
    if (!clause.startsWith('type ')) loadedWith(join(dirname(path), name), seen);
  }
  return seen;
}

it('no adapter is loaded before a registry names it', async () => {
  const root = import.meta.dirname;
  const loaded = [...loadedWith(join(root, 'index.ts'))].map((path) => relative(root, path));
  expect(loaded).toContain('load-adapter.ts');
  expect(loaded).toContain('transport/upstream.ts');
  expect(loaded.filter((path) => /^(openai|azure|anthropic|google|bedrock|cohere|translate)\//.test(path))).toEqual([]);
  const own = [...loadedWith(join(root, 'anthropic/anthropic-adapter.ts'))].map((path) => relative(root, path));
  expect(own).toContain('anthropic/messages-stream.ts');
});

it.each([
  ['openai', ['authorization', 'Bearer k']],
  ['azure', ['api-key', 'k']],
  ['anthropic', ['anthropic-version', '2023-06-01', 'x-api-key', 'k']],
  ['google', ['x-goog-api-key', 'k']],
  ['bedrock', ['authorization', 'Bearer k']],
  ['cohere', ['authorization', 'Bearer k']],
] as const)('%s sends its key in its own header, and no header without a key', async (name, headers) => {
  const adapter = await loadAdapter(name);
  expect(adapter.headers('k')).toEqual(headers);
  expect(adapter.headers(undefined).join()).not.toMatch(/key|auth/);
});

it.each(Object.entries(adapterModelTypes))(
  '%s serves the types of models that a catalog may give it',
  async (name, types) => {
    const adapter = await loadAdapter(name as keyof typeof adapterModelTypes);
    const target = { upstreamModel: 'm', extraBody: {} };
    const chat = adapter.chatRequest(
      { model: 'a/m', messages: [{ role: 'user', content: 'Hello' }] },
      {
        ...target,
        maxOutputTokens: 10,
        reasoning: undefined,
        dialect: { max_tokens_field: 'max_tokens', extra_body: {}, reasoning_off: {} },
      },
    );
    const served = {
      text: !('unsupported' in chat),
      embedding: !('unsupported' in adapter.embeddingsRequest({ model: 'a/m', input: 'Hello' }, target)),
      image: adapter.images !== undefined,
      tts: adapter.speech !== undefined,
    };
    expect(Object.entries(served).flatMap(([type, isServed]) => (isServed ? [type] : []))).toEqual(types);
  },
);
