import { initialPreferences } from '@sotto/wire';
import { describe, expect, it } from 'vitest';
import {
  aCatalog,
  aModel,
  decide,
  oneModel,
  penalizing,
  planned,
  providersFor,
  type RouteSketch,
  refusalOf,
  refused,
} from '../testing/fixtures.ts';
import { attemptsOf, type RoutingRequest, routingOf } from './plan-request.ts';

// `decisions.test.ts` tests what `docs/reference/routing-by-example.md` shows. These tests are for the rest.

const acme: RouteSketch = { provider: 'acme', input: 1 };
const bolt: RouteSketch = { provider: 'bolt', input: 2 };
const cora: RouteSketch = { provider: 'cora', input: 3 };
const dune: RouteSketch = { provider: 'dune', input: 4 };
const four = oneModel(acme, bolt, cora, dune);
const attempted = (...request: Parameters<typeof planned>): string[] =>
  attemptsOf(planned(...request)).map((route) => route.providerId);

describe('attempts', () => {
  it('at most 3 providers, of however many the plan names', () => {
    expect(providersFor(four)).toEqual(['acme', 'bolt', 'cora', 'dune']);
    expect(attempted(four)).toEqual(['acme', 'bolt', 'cora']);
  });

  it('an e2ee request is not failed over', () => {
    const sealed = oneModel({ ...acme, privacy: 'e2ee' }, { ...bolt, privacy: 'e2ee' });
    expect(attempted(sealed, {}, { needs: { encrypted: true } })).toEqual(['acme']);
  });
});

describe('pins', () => {
  const family = oneModel(
    { provider: 'acme/eu', input: 2 },
    { provider: 'acme/us', input: 1 },
    { provider: 'acmeco', input: 0 },
    { provider: 'hidden', unlisted: true, input: 3 },
    { provider: 'shadow', unlisted: true, input: 2 },
  );

  it('rule 1: of a provider with variants, one attempt on the first of them by sort', () => {
    expect(attempted(family, { provider: 'acme' })).toEqual(['acme/us']);
  });

  it('rule 2: of `other`, one attempt on the first unlisted route', () => {
    expect(attempted(family, { provider: 'other' })).toEqual(['shadow']);
    expect(attempted(family, { provider: { only: ['other'] } })).toEqual(['shadow', 'hidden']);
  });
});

describe('suffixes', () => {
  it.each([':free', ':online', ':thinking', ':extended', ':NITRO', ':', ':floor:nitro:free'])(
    'the suffix `%s` is unsupported: 404 `model_not_found`',
    (suffix) => {
      expect(refused(four, { model: `lab/one${suffix}` })).toBe('model_not_found');
    },
  );

  it('carries the floor `private`, and its error says how to ask for `anonymous`', () => {
    const anonymous = oneModel({ ...acme, privacy: 'anonymous' });
    const { type, message } = refusalOf(decide(anonymous, { model: 'lab/one:floor' }));
    expect(type).toBe('no_provider_route_meets_privacy');
    expect(message).toContain('`provider.minimum_privacy: "anonymous"`');
    const stated = { model: 'lab/one:floor', provider: { minimum_privacy: 'anonymous' } } as const;
    expect(providersFor(anonymous, stated)).toEqual(['acme']);
    expect(providersFor(anonymous)).toEqual(['acme']);
  });
});

describe('models', () => {
  it('unknown or not enabled is 404 `model_not_found`', () => {
    expect(refusalOf(decide(four, { model: 'lab/none' }))).toMatchObject({
      type: 'model_not_found',
      param: 'model',
      message: expect.stringContaining('lab/none'),
    });
    expect(refused(oneModel())).toBe('model_not_found');
  });

  it.each([
    ['embedding', '/embeddings'],
    ['image', '/images/generations'],
    ['tts', '/audio/speech'],
  ] as const)('refuses a model of type %s where text is asked for, and names its endpoint', (type, endpoint) => {
    const catalog = aCatalog(aModel('lab/one', [acme], type));
    expect(refusalOf(decide(catalog))).toMatchObject({
      type: 'invalid_request',
      param: 'model',
      message: expect.stringContaining(endpoint),
    });
    expect(decide(catalog, {}, { needs: { modelType: type } }).ok).toBe(true);
  });

  it('tells whether `/auto` chose', () => {
    const routings = (request: Partial<RoutingRequest>): string[] => {
      const plan = planned(two, request);
      return [...new Set(plan.routes.map((route) => `${route.modelId} ${routingOf(plan, route)}`))];
    };
    const two = aCatalog(aModel('lab/cheap', [{ ...acme, input: 1 }]), aModel('lab/dear', [{ ...acme, input: 9 }]));
    const [cheap, dear] = ['lab/cheap', 'lab/dear'];
    expect(routings({ model: dear })).toEqual([`${dear} exact`]);
    expect(routings({ model: '/auto' })).toEqual([`${cheap} auto`]);
    // Each route's routing depends on how its own model was requested, not on the first model.
    expect(routings({ model: dear, models: [dear, '/auto'] })).toEqual([`${dear} exact`, `${cheap} auto`]);
    expect(routings({ model: '/auto', models: ['/auto', dear] })).toEqual([`${cheap} auto`, `${dear} exact`]);
    expect(routings({ model: cheap, models: [cheap, '/auto'] })).toEqual([`${cheap} exact`]);
    // `/auto` may be named twice and choose a different model each time.
    const auto = { ...initialPreferences.auto, strategy: 'cheapest', tiers: 'Standard' } as const;
    const tiers = aCatalog(
      aModel('lab/open', [{ ...acme, input: 0.1, output: 0.1, privacy: 'anonymous' }]),
      aModel('lab/shut', [{ ...bolt, input: 9, output: 9, privacy: 'private' }]),
    );
    const twice = planned(tiers, { model: '/auto', models: ['/auto', '/auto:floor'] }, { preferences: { auto } });
    expect(twice.routes.map((route) => `${route.modelId} ${routingOf(twice, route)}`)).toEqual([
      'lab/open auto',
      'lab/shut auto',
    ]);
  });

  it('an unknown model comes before its privacy, providers, price and context', () => {
    const provider = { only: ['nobody'], max_price: { input: 0 } };
    const around = { preferences: { privacy_boundary: 'Maximum' }, needs: { promptTokens: 1e9 } } as const;
    expect(refused(four, { model: 'lab/none', provider }, around)).toBe('model_not_found');
    expect(refused(four, { provider }, around)).toBe('privacy_boundary_not_met');
  });
});

describe('models to fall back to', () => {
  const catalog = aCatalog(
    aModel('lab/a', [
      { ...acme, privacy: 'private' },
      { ...bolt, privacy: 'private' },
    ]),
    aModel('lab/b', [cora, { ...dune, privacy: 'anonymous' }]),
    aModel('lab/c', [{ ...dune, privacy: 'tee' }]),
    aModel('lab/off', []),
    aModel('lab/embed', [acme], 'embedding'),
  );
  const steps = (...request: Parameters<typeof planned>): string[] =>
    planned(...request).routes.map((route) => `${route.modelId}@${route.providerId}`);

  it('come after the routes of the first model, each by its own order', () => {
    expect(steps(catalog, { model: 'lab/a', models: ['lab/c', 'lab/b'] })).toEqual([
      'lab/a@acme',
      'lab/a@bolt',
      'lab/c@dune',
      'lab/b@cora',
    ]);
  });

  it('are at most 3, of which `model` is the first and repetitions count once', () => {
    expect(refusalOf(decide(catalog, { model: 'lab/a', models: ['lab/b', 'lab/c', 'lab/d'] }))).toMatchObject({
      type: 'invalid_request',
      param: 'models',
    });
    expect(steps(catalog, { model: 'lab/a', models: ['lab/a', 'lab/b', 'lab/c', 'lab/b'] })).toHaveLength(4);
    expect(steps(catalog, { model: 'lab/a', models: null })).toHaveLength(2);
    expect(steps(catalog, { model: 'lab/a', models: [] })).toHaveLength(2);
  });

  it('of another type are refused, wherever they stand', () => {
    expect(refusalOf(decide(catalog, { model: 'lab/a', models: ['lab/embed'] }))).toMatchObject({
      type: 'invalid_request',
      message: expect.stringContaining('lab/embed'),
    });
  });

  it('an unknown one is 404, wherever it stands', () => {
    expect(refusalOf(decide(catalog, { model: 'lab/a', models: ['lab/none'] }))).toMatchObject({
      type: 'model_not_found',
      message: expect.stringContaining('lab/none'),
    });
    expect(refused(catalog, { model: 'lab/a', models: ['lab/b', 'lab/off'] })).toBe('model_not_found');
  });

  it('where none has a route, the first model’s error is told', () => {
    const request = { model: 'lab/a', models: ['lab/b'] };
    const { type, message } = refusalOf(decide(catalog, { ...request, provider: { max_price: { input: 0 } } }));
    expect(type).toBe('no_provider_route_meets_price');
    expect(message).toContain('lab/a');
  });

  it('do not allow a step down: weaker routes of a later model stay out', () => {
    const down = { model: 'lab/c', models: ['lab/a'] };
    expect(steps(catalog, down)).toEqual(['lab/c@dune']);
    expect(steps(catalog, { ...down, provider: { minimum_privacy: 'private' } })).toEqual([
      'lab/c@dune',
      'lab/a@acme',
      'lab/a@bolt',
    ]);
    expect(steps(catalog, down, { preferences: { fallback_floor: 'private' } })).toHaveLength(3);
    expect(steps(catalog, { ...down, provider: { order: ['bolt'] } })).toEqual(['lab/c@dune', 'lab/a@bolt']);
  });

  it('a penalty reorders the routes of a model, and drops none of any model', () => {
    const mixed = aCatalog(
      aModel('lab/a', [
        { ...acme, privacy: 'private' },
        { ...bolt, privacy: 'tee' },
      ]),
      aModel('lab/b', [{ ...cora, privacy: 'private' }]),
    );
    const request = { model: 'lab/a', models: ['lab/b'], provider: { sort: 'price' } } as const;
    expect(steps(mixed, request)).toEqual(['lab/a@acme', 'lab/a@bolt', 'lab/b@cora']);
    expect(steps(mixed, request, { status: penalizing('acme') })).toEqual(['lab/a@bolt', 'lab/a@acme', 'lab/b@cora']);
  });

  it('name no route twice, even where one model is asked for in two ways', () => {
    expect(steps(catalog, { model: 'lab/a', models: ['lab/a:floor'] })).toEqual(['lab/a@acme', 'lab/a@bolt']);
    const auto = steps(catalog, { model: '/auto', models: ['lab/c'] });
    expect(auto).toEqual(['lab/c@dune']);
  });

  it('have suffixes of their own', () => {
    const priced = aCatalog(aModel('lab/a', [acme]), aModel('lab/b', [{ ...bolt, privacy: 'tee' }, cora, acme]));
    expect(steps(priced, { model: 'lab/a', models: ['lab/b:floor'] })).toEqual([
      'lab/a@acme',
      'lab/b@acme',
      'lab/b@bolt',
      'lab/b@cora',
    ]);
    const contradictory = { model: 'lab/a', models: ['lab/b:floor'], provider: { sort: 'privacy' } } as const;
    expect(refused(priced, contradictory)).toBe('provider_policy_conflict');
  });
});
