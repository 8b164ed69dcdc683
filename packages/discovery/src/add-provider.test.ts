import { checkCatalog, parseRegistry, publicRegistry } from '@sotto/router';
import { describe, expect, it } from 'vitest';
import { addProvider, type ProviderFiles } from './add-provider.ts';
import { serverEntry, serverModels } from './entries.ts';
import type { ServedModel } from './model-server.ts';

const model = (name: string, more: Partial<ServedModel> = {}): ServedModel => ({
  ...{ name, type: 'text', contextLength: 8192, tools: true, vision: false, structuredOutput: true },
  ...more,
});
const added = (files: Partial<ProviderFiles>, id: string, models: readonly ServedModel[], replaces = false) => {
  const entry = serverEntry('ollama', id, 'http://127.0.0.1:11434/v1');
  return addProvider(files, { entry, models: serverModels({ models }, id), replaces });
};

function sound(result: ReturnType<typeof addProvider>): ProviderFiles {
  if (!result.ok) throw new Error(result.problem);
  const registry = parseRegistry(result.files.registry, 'r');
  if (!registry.ok) throw new Error(registry.problems[0]?.message);
  const known = publicRegistry(registry.value, () => true);
  expect(checkCatalog(result.files.catalog, known, '2026-01-01').problems).toEqual([]);
  return result.files;
}

describe('addProvider', () => {
  it('writes files that the planes accept', () => {
    const files = sound(added({}, 'ollama', [model('qwen3:8b'), model('nomic', { type: 'embedding' })]));
    expect(files.catalog).toContain('id: ollama/qwen3-8b');
    expect(files.catalog).toContain('pricing: { input: 0, output: 0 }');
    expect(files.registry).toContain('base_url: http://127.0.0.1:11434/v1');
  });

  it('gives every model an id of its own that takes no suffix', () => {
    const names = ['llama3.2:latest', 'llama3.2', 'hf.co/lab/Model:Q4', '/models/a b.gguf', '::'];
    const ids = serverModels({ models: names.map((name) => model(name)) }, 'ollama').map(({ id }) => id);
    expect(ids).toEqual([
      'ollama/llama3.2',
      'ollama/llama3.2-2',
      'ollama/hf.co-lab-Model-Q4',
      'ollama/a-b',
      'ollama/model',
    ]);
  });

  it('keeps what the files had, with its comments', () => {
    const first = sound(added({}, 'one', [model('a')]));
    const commented = { registry: `# Ours.\n${first.registry}`, catalog: `# Theirs.\n${first.catalog}` };
    const both = sound(added(commented, 'two', [model('b')]));
    expect(both.registry).toMatch(/^# Ours\..*id: one.*id: two/s);
    expect(both.catalog).toMatch(/^# Theirs\..*id: one\/a.*id: two\/b/s);
  });

  it('replaces a provider and its routes only if it may', () => {
    const first = sound(added({}, 'one', [model('a'), model('b')]));
    expect(added(first, 'one', [model('c')])).toEqual({
      ok: false,
      problem: 'the registry file already has the provider `one`',
    });
    const again = sound(added(first, 'one', [model('c')], true));
    expect(again.catalog).not.toContain('one/a');
    expect(again.catalog).toContain('one/c');
    expect(again.registry.match(/id: one/g)).toHaveLength(1);
  });

  it('adds a route to a model that the catalog has', () => {
    const first = sound(added({}, 'one', [model('a')]));
    const [shared] = serverModels({ models: [model('a')] }, 'one');
    if (shared === undefined) throw new Error('no model');
    const route = { ...shared.routes[0], provider: 'two' } as (typeof shared.routes)[number];
    const entry = serverEntry('vllm', 'two', 'http://127.0.0.1:8000/v1');
    const both = sound(addProvider(first, { entry, models: [{ ...shared, routes: [route] }], replaces: false }));
    expect(both.catalog.match(/id: one\/a/g)).toHaveLength(1);
    expect(both.catalog).toMatch(/provider: one.*provider: two/s);
  });

  it.each([
    [{ registry: 'providers: {}' }, 'providers'],
    [{ catalog: 'models: 5' }, 'models'],
    [{ registry: 'providers: [' }, 'providers'],
    [{ catalog: 'models: [{ id: one/a, routes: { a: 1 } }]' }, '`one/a` of the catalog file has no list `routes`'],
  ])('refuses %j', (files, list) => {
    expect(added(files, 'one', [model('a')])).toMatchObject({ ok: false, problem: expect.stringContaining(list) });
  });
});
