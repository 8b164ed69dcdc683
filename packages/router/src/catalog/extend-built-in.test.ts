import { describe, expect, it } from 'vitest';
import { checkCatalog } from './parse-catalog.ts';
import { keysOf, parseRegistry, publicRegistry } from './registry.ts';

const route = (provider: string, input: number): string =>
  `{ provider: ${provider}, upstream_model: own, privacy_class: anonymous, pricing: { input: ${input}, output: 2 } }`;
const builtIn = `models:
  - id: lab/one
    model_type: text
    context_length: 8000
    routes: [${route('acme', 1)}, ${route('corp', 1)}]
  - id: lab/two
    model_type: text
    context_length: 8000
    routes: [${route('corp', 1)}]
`;
const registryOf = (...ids: string[]) => {
  const text = `providers:\n${ids.map((id) => `  - { id: ${id}, name: ${id}, adapter: openai, base_url: 'https://${id}.example/v1', privacy_class: private }\n`).join('')}`;
  const parsed = parseRegistry(text, 'd');
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return publicRegistry(parsed.value, () => true);
};
const check = (text: string, ...ids: string[]) => checkCatalog(text, registryOf(...ids), '2026-07-01', builtIn);
const routesIn = ({ file }: ReturnType<typeof check>) =>
  Object.fromEntries(
    (file?.models ?? []).map(({ id, routes }) => [
      id,
      routes.map(({ provider, pricing }) => `${provider} ${pricing.input}`),
    ]),
  );

describe('a catalog that extends the built-in one', () => {
  it('adds models and routes, and changes only the fields that it has', () => {
    const text = `extends: built_in
models:
  - id: lab/one
    auto: false
    routes:
      - { provider: acme, pricing: { input: 3, output: 4 } }
      - ${route('own', 5)}
  - id: own/new
    model_type: text
    context_length: 9000
    routes: [${route('own', 6)}]
`;
    const checked = check(text, 'acme', 'corp', 'own');
    expect(checked.problems).toEqual([]);
    expect(routesIn(checked)).toEqual({
      'lab/one': ['acme 3', 'corp 1', 'own 5'],
      'lab/two': ['corp 1'],
      'own/new': ['own 6'],
    });
    const [one] = checked.file?.models ?? [];
    expect(one).toMatchObject({ auto: false, context_length: 8000 });
    // The prices are those of the file as a whole: an old price for cached tokens would belong to another list.
    expect(one?.routes[0]).toMatchObject({ upstream_model: 'own', pricing: { input: 3, output: 4 } });
  });

  it('takes over only what its registry can reach', () => {
    expect(routesIn(check('extends: built_in\nmodels: []\n', 'acme'))).toEqual({ 'lab/one': ['acme 1'] });
  });

  it('reports a problem at the line of the file, not of the built-in one', () => {
    const text = `extends: built_in
models:
  - id: lab/two
    routes:
      - { provider: corp, privacy_class: tee }
      - ${route('own', 5)}
      - { provider: late, upstream_model: own, privacy_class: anonymous, pricing: {} }
`;
    expect(check(text, 'acme', 'corp', 'own').problems).toEqual([
      { line: 5, message: 'lab/two: corp may claim at most private for own' },
      { line: 7, message: 'lab/two: the route of late lacks the price input and output' },
      { line: 7, message: 'lab/two: provider late is not in the registry' },
    ]);
    const repeated = check(
      `extends: built_in\nmodels:\n  - id: lab/two\n  - id: lab/two\n    model_type: text\n    routes: [${route('own', 1)}]\n`,
      'corp',
      'own',
    );
    expect(repeated.problems).toMatchObject([{ line: 4, message: 'lab/two: the model is repeated' }, { line: 6 }]);
  });

  it('is refused where there is nothing to extend, and by another name', () => {
    const [nothing] = checkCatalog('extends: built_in\nmodels: []\n', undefined, '2026-07-01').problems;
    expect(nothing).toMatchObject({ line: 1, message: expect.stringContaining('cannot be extended here') });
    expect(check('extends: mine\nmodels: []\n', 'acme').problems).toMatchObject([{ line: 1 }]);
  });
});

describe('a registry that extends the built-in one', () => {
  const ofImage = `providers:
  - { id: acme, name: Acme, adapter: openai, base_url: 'https://acme.example/v1', api_key_env: ACME_KEY, privacy_class: anonymous }
`;
  const parse = (text: string) => parseRegistry(text, 'd', { builtIn: ofImage });

  it('changes what it names and adds the rest', () => {
    const parsed = parse(`extends: built_in
providers:
  - { id: acme, privacy_class: private, api_keys: [{ env: ONE, weight: 3 }, { env: TWO }] }
  - { id: own, name: Own, adapter: openai, base_url: 'https://own.example/v1', privacy_class: private }
`);
    const [acme, own] = parsed.ok ? parsed.value.providers : [];
    expect(acme).toMatchObject({ name: 'Acme', privacy_class: 'private', base_url: 'https://acme.example/v1' });
    expect(acme && keysOf(acme)).toEqual([
      { env: 'ONE', weight: 3 },
      { env: 'TWO', weight: 1 },
    ]);
    expect(own).toMatchObject({ id: 'own' });
  });

  it('names the line of a wrong change', () => {
    const parsed = parse('extends: built_in\nproviders:\n  - id: acme\n    privacy_class: secret\n');
    expect(parsed.ok ? [] : parsed.problems).toMatchObject([{ line: 4 }]);
  });

  it.each([
    ['both fields of keys', 'api_key_env: ONE, api_keys: [{ env: TWO }]', /set only one/],
    ['a variable twice', 'api_keys: [{ env: ONE }, { env: ONE }]', /repeated/],
    ['no weight', 'api_keys: [{ env: ONE, weight: 0 }]', /weight/],
  ])('refuses %s', (_, keys, message) => {
    const parsed = parse(
      `providers:\n  - { id: own, name: Own, adapter: openai, base_url: 'https://own.example/v1', privacy_class: private, ${keys} }\n`,
    );
    expect(parsed.ok ? '' : parsed.problems.map((problem) => problem.message).join()).toMatch(message);
  });
});
