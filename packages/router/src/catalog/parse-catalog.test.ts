import { describe, expect, it } from 'vitest';
import { parseCatalog } from './parse-catalog.ts';
import type { RegistryPublic } from './registry.ts';

const registry: RegistryPublic = {
  digest: 'r',
  providers: [
    { id: 'acme', name: 'Acme', listed: true, privacy_class: 'private', available: true },
    {
      id: 'bolt',
      name: 'Bolt',
      listed: true,
      privacy_class: 'tee',
      models: [{ match: 'llama-*', privacy_class: 'private' }],
      available: true,
    },
  ],
};
const parse = (text: string) => parseCatalog(text, registry, { version: 3, digest: 'c' });
const problemsOf = (text: string) => {
  const parsed = parse(text);
  return parsed.ok ? [] : parsed.problems;
};

const good = `models:
  - id: acme/small
    model_type: text
    context_length: 1000
    routes:
      - provider: acme
        upstream_model: small-v1
        privacy_class: private
        pricing: {input: 0.5, output: 1.5}
`;

describe('parseCatalog', () => {
  it('refuses a route of a model that the API of its provider does not serve, with its line', () => {
    const [acme, ...others] = registry.providers;
    if (acme === undefined) throw new Error('no provider');
    const textless: RegistryPublic = { ...registry, providers: [{ ...acme, model_types: ['embedding'] }, ...others] };
    const parsed = parseCatalog(good, textless, { version: 3, digest: 'c' });
    expect(parsed).toEqual({
      ok: false,
      problems: [
        { line: 6, message: 'acme/small: acme serves no models of type text: its adapter has no such operation' },
      ],
    });
  });

  it('gives the file, and the catalog that it makes with this registry', () => {
    const parsed = parse(good);
    if (!parsed.ok) throw new Error('not parsed');
    expect(parsed.value.file.models.map(({ id }) => id)).toEqual(['acme/small']);
    expect(parsed.value.catalog).toMatchObject({ version: 3, digest: 'c' });
    expect(parsed.value.catalog.models.get('acme/small')?.routes).toMatchObject([
      { id: 'acme/small@acme', price: { input: 500_000, output: 1_500_000 }, contextLength: 1000 },
    ]);
  });

  it('refuses a provider that the registry does not know, with the line', () => {
    expect(problemsOf(good.replace('provider: acme', 'provider: evil'))).toEqual([
      { line: 6, message: 'acme/small: provider evil is not in the registry' },
    ]);
  });

  it('refuses a variant of a known provider: each variant needs its own entry', () => {
    expect(problemsOf(good.replace('provider: acme', 'provider: acme/eu'))).toEqual([
      { line: 6, message: 'acme/small: provider acme/eu is not in the registry' },
    ]);
  });

  it('refuses a route without a price, with the line', () => {
    expect(problemsOf(good.replace('{input: 0.5, output: 1.5}', '{cached_input: 0.5}'))).toEqual([
      { line: 9, message: 'acme/small: the route of acme lacks the price input and output' },
    ]);
  });

  it('refuses a malformed price, with the line', () => {
    expect(problemsOf(good.replace('output: 1.5', 'output: "1.5"'))).toMatchObject([{ line: 9 }]);
    expect(problemsOf(good.replace('output: 1.5', 'output: -1'))).toMatchObject([{ line: 9 }]);
  });

  it('refuses a model that is repeated, with the line of the second', () => {
    expect(problemsOf(good + good.replace('models:\n', ''))).toEqual([
      { line: 10, message: 'acme/small: the model is repeated' },
    ]);
  });

  it('treats ids that differ in case as two models', () => {
    expect(problemsOf(good + good.replace('models:\n', '').replace('acme/small', 'acme/Small'))).toEqual([]);
  });

  it('refuses a provider that serves one model twice, with the line of the second', () => {
    const again = good.slice(good.indexOf('      - provider'));
    expect(problemsOf(good + again)).toEqual([{ line: 10, message: 'acme/small: provider acme is repeated' }]);
  });

  it('refuses a class stronger than the registry allows the provider, with the line', () => {
    expect(problemsOf(good.replace('privacy_class: private', 'privacy_class: tee'))).toEqual([
      { line: 8, message: 'acme/small: acme may claim at most private for small-v1' },
    ]);
    expect(problemsOf(good.replace('privacy_class: private', 'privacy_class: anonymous'))).toEqual([]);
  });

  it('refuses a class stronger than the registry allows the model', () => {
    const bolt = good.replace('provider: acme', 'provider: bolt');
    expect(problemsOf(bolt)).toEqual([
      { line: 8, message: 'acme/small: bolt may claim at most anonymous for small-v1' },
    ]);
    expect(problemsOf(bolt.replace('small-v1', 'llama-3'))).toEqual([]);
  });

  it('refuses a text route without a context length, and accepts one on the route itself', () => {
    const unknown = good.replace('    context_length: 1000\n', '');
    expect(problemsOf(unknown)).toEqual([
      { line: 5, message: "acme/small: the route of acme needs a context_length, its own or the model's" },
    ]);
    expect(problemsOf(`${unknown}        context_length: 500\n`)).toEqual([]);
    const embedding = unknown.replace('model_type: text', 'model_type: embedding');
    expect(problemsOf(embedding)).toEqual([]);
  });

  it('reports every problem at once, in the order of the file', () => {
    const text = good.replace('provider: acme', 'provider: evil').replace('{input: 0.5, output: 1.5}', '{}');
    expect(problemsOf(text).map(({ line }) => line)).toEqual([9, 6]);
  });

  it('refuses malformed YAML, an alias and an unknown key, each with its line', () => {
    expect(problemsOf(`${good}    - ]`)[0]?.line).toBe(10);
    expect(problemsOf(good.replace('model_type: text', 'model_type: &t text\n    name: *t'))).toMatchObject([
      { line: 4 },
    ]);
    expect(problemsOf(`${good}        price: 3\n`)).toEqual([
      { line: 6, message: expect.stringMatching(/^`models\.0\.routes\.0` has an unknown field: `price`/) },
    ]);
  });
});
