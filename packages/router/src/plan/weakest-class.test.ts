import {
  comparePrivacy,
  initialPreferences,
  type Preferences,
  type PrivacyClass,
  type ProviderPolicyObject,
} from '@sotto/wire';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Catalog, Route } from '../catalog/catalog.ts';
import { measurementMinimum } from '../health/measurement.ts';
import {
  aCatalog,
  accepted,
  aModel,
  anyBodies,
  anyCatalog,
  anyPreferences,
  anyRequest,
  anyStatus,
  contextOf,
  measuring,
  needing,
  oneModel,
  penalizing,
  type RouteSketch,
  refusalOf,
  type Surroundings,
  theModel,
} from '../testing/fixtures.ts';
import type { Needs } from './needs.ts';
import type { RouteStatus } from './order-routes.ts';
import { planRequest, type RoutingRequest } from './plan-request.ts';
import { bestOfBand, type PlanningContext } from './planning-context.ts';
import { sentTo, weakestReachableClass } from './weakest-class.ts';

const decideClass = (catalog: Catalog, request: Partial<RoutingRequest> = {}, around: Surroundings = {}) =>
  weakestReachableClass(
    { model: theModel, ...request },
    needing(around.needs),
    contextOf(catalog, { ...around, preferences: { provider_sort: 'privacy', ...around.preferences } }),
  );
const weakest = (...question: Parameters<typeof decideClass>) => accepted(decideClass(...question));

const tee: RouteSketch = { provider: 'encl', privacy: 'tee', input: 1, contextLength: 1000 };
const priv: RouteSketch = { provider: 'priv', privacy: 'private', input: 2, contextLength: 1000 };
const anon: RouteSketch = { provider: 'anon', privacy: 'anonymous', input: 3, contextLength: 1000 };
const able = { tools: true, vision: true, structuredOutput: true };
const byPrice = { provider: { sort: 'price' } } as const;

describe('weakestReachableClass', () => {
  it('is the class of the strongest tier where nothing permits a step down', () => {
    expect(weakest(oneModel(tee, priv, anon))).toBe('tee');
    expect(weakest(oneModel(anon))).toBe('anonymous');
  });

  it('is the weakest class that a permitted step down reaches', () => {
    const catalog = oneModel(tee, priv, anon);
    expect(weakest(catalog, { provider: { minimum_privacy: 'private' } })).toBe('private');
    expect(weakest(catalog, { provider: { order: ['encl', 'anon'] } })).toBe('anonymous');
    expect(weakest(catalog, {}, { preferences: { fallback_floor: 'private' } })).toBe('private');
  });

  it('is the class of the one route that a single attempt must go to', () => {
    const catalog = oneModel(tee, priv, anon);
    const once = (provider: ProviderPolicyObject) => weakest(catalog, { provider: { ...provider, max_attempts: 1 } });
    expect(once({ minimum_privacy: 'anonymous' })).toBe('tee');
    expect(once({ order: ['encl', 'anon'] })).toBe('tee');
    expect(once({ order: ['priv', 'encl'], sort: 'price' })).toBe('private');
    const alone = { provider: { order: ['encl', 'anon'], allow_fallbacks: false } };
    expect(weakest(catalog, alone)).toBe('tee');
    expect(
      weakest(catalog, { provider: { order: ['encl', 'anon'] } }, { preferences: { provider_max_attempts: 1 } }),
    ).toBe('tee');
    // If the first route is too small, penalized, or lacks a capability that the body needs, another one is first.
    expect(once({ minimum_privacy: 'anonymous', sort: 'price' })).toBe('anonymous');
    const small = oneModel({ ...tee, contextLength: 500 }, anon);
    expect(weakest(small, alone)).toBe('anonymous');
    expect(weakest(oneModel(tee, { ...anon, capabilities: able }), alone)).toBe('anonymous');
  });

  it('of several models is the class of the routes that a single attempt can go to', () => {
    const catalog = aCatalog(aModel('lab/a', [tee]), aModel('lab/b', [anon]));
    const provider = { minimum_privacy: 'anonymous', max_attempts: 1, sort: 'privacy' } as const;
    expect(weakest(catalog, { model: 'lab/a', models: ['lab/b'], provider })).toBe('tee');
    const longer = aCatalog(aModel('lab/a', [tee]), aModel('lab/b', [{ ...anon, contextLength: 2000 }]));
    expect(weakest(longer, { model: 'lab/a', models: ['lab/b'], provider })).toBe('anonymous');
  });

  it.each(['tools', 'vision', 'structuredOutput'] as const)('counts bodies that need %s', (capability) => {
    const missing = { ...able, [capability]: false };
    const catalog = oneModel({ ...tee, capabilities: missing }, { ...anon, capabilities: able });
    expect(weakest(catalog)).toBe('anonymous');
    expect(weakest(oneModel({ ...tee, capabilities: able }, { ...anon, capabilities: able }))).toBe('tee');
  });

  it('counts bodies that ask for JSON under `require_parameters`', () => {
    const catalog = oneModel(tee, { ...anon, capabilities: { structuredOutput: true } });
    expect(weakest(catalog, { provider: { require_parameters: true } })).toBe('anonymous');
  });

  it('counts prompts that only a weaker route holds, where the sort does not go by tier', () => {
    expect(weakest(oneModel(tee, { ...priv, contextLength: 2000 }), byPrice)).toBe('private');
    expect(weakest(oneModel(tee, { ...priv, contextLength: 2000 }))).toBe('tee');
    expect(weakest(oneModel(tee, priv), byPrice)).toBe('tee');
  });

  it('counts output ceilings that only a weaker route allows', () => {
    const catalog = (most: number) => oneModel({ ...tee, maxOutputTokens: 100 }, { ...priv, maxOutputTokens: most });
    expect(weakest(catalog(200), byPrice)).toBe('private');
    expect(weakest(catalog(100), byPrice)).toBe('tee');
    expect(weakest(oneModel({ ...tee, maxOutputTokens: 100 }, priv), byPrice)).toBe('private');
  });

  it('counts prompts so long that a stronger route is above the price ceiling', () => {
    const dearWhenLong = { ...tee, price: { tiers: [{ abovePromptTokens: 500, input: 9_000_000 }] } };
    const ceiling = { provider: { max_price: { input: 5 } } };
    expect(weakest(oneModel(dearWhenLong, priv), ceiling)).toBe('private');
    expect(weakest(oneModel(dearWhenLong, priv), { provider: { sort: 'privacy' } })).toBe('tee');
  });

  it('counts bodies that are at once long, so that one route is too dear, and ask for much, so that another is too small', () => {
    const long = { ...tee, contextLength: 4000, price: { tiers: [{ abovePromptTokens: 500, input: 9_000_000 }] } };
    const brief: RouteSketch = { ...tee, provider: 'brief', contextLength: 4000, maxOutputTokens: 400 };
    const ceiling = { provider: { sort: 'price', max_price: { input: 5 } } } as const;
    expect(weakest(oneModel(long, brief, priv), ceiling)).toBe('private');
    expect(weakest(oneModel(long, { ...brief, maxOutputTokens: 600 }, priv), ceiling)).toBe('tee');
  });

  it('counts what measurements may say by the time the ticket is used', () => {
    const catalog = oneModel(tee, priv);
    const request = { provider: { sort: 'latency' } } as const;
    const now = measuring({ encl: { ttftMs: 10 }, priv: { ttftMs: 90 } });
    expect(weakest(catalog, request, { status: now })).toBe('private');
    expect(weakest(oneModel(tee, { ...priv, input: 1 }), byPrice, { status: now })).toBe('private');
  });

  it('counts, under the sort Default, that every stronger provider may keep failing by the time the ticket is used', () => {
    const byDefault = { provider_sort: 'default' } as const;
    expect(weakest(oneModel(tee, priv), {}, { preferences: byDefault })).toBe('private');
    expect(weakest(oneModel(tee, priv, anon), {}, { preferences: byDefault })).toBe('anonymous');
    expect(weakest(oneModel(tee, priv, anon), {}, { preferences: { ...byDefault, privacy_boundary: 'Private' } })).toBe(
      'private',
    );
    const floor = { preferences: { ...byDefault, fallback_floor: 'private' } } as const;
    expect(weakest(oneModel(tee, priv, anon), {}, floor)).toBe('private');
    expect(weakest(oneModel(tee, priv, { ...anon, capabilities: able }), {}, floor)).toBe('anonymous');
  });

  it('counts the models that `/auto` may choose by the time the ticket is used', () => {
    const catalog = aCatalog(aModel('lab/a', [tee]), aModel('lab/b', [priv]), aModel('lab/c', [anon]));
    expect(weakest(catalog, { model: '/auto' })).toBe('private');
    const auto: Preferences['auto'] = {
      ...initialPreferences.auto,
      tiers: 'Standard',
      models: { mode: 'only', ids: ['lab/a'] },
    };
    expect(weakest(catalog, { model: '/auto' }, { preferences: { auto } })).toBe('tee');
    auto.models = { mode: 'except', ids: ['lab/b'] };
    expect(weakest(catalog, { model: '/auto' }, { preferences: { auto } })).toBe('anonymous');
    expect(weakest(catalog, { model: '/auto', models: ['lab/c'] })).toBe('anonymous');
  });

  it('counts the models to fall back to, as far as they can be reached', () => {
    const first = aModel('lab/a', [tee]);
    const request = { model: 'lab/a', models: ['lab/b'] };
    expect(weakest(aCatalog(first, aModel('lab/b', [priv])), request)).toBe('tee');
    const longer = aModel('lab/b', [{ ...priv, contextLength: 2000 }]);
    expect(weakest(aCatalog(first, longer), request)).toBe('private');
    const stated = { ...request, provider: { minimum_privacy: 'private' } } as const;
    expect(weakest(aCatalog(first, aModel('lab/b', [priv])), stated)).toBe('private');
  });

  it('counts a later model that is reached because the strongest tier of an earlier one is too small', () => {
    const vision = { vision: true };
    const first = aModel('lab/a', [tee, { ...priv, capabilities: vision, contextLength: 4000 }]);
    const second = aModel('lab/b', [{ ...anon, capabilities: vision, contextLength: 4000 }]);
    expect(weakest(aCatalog(first, second), { model: 'lab/a', models: ['lab/b'] })).toBe('anonymous');
    expect(weakest(aCatalog(first, second), { model: 'lab/a' })).toBe('private');
  });

  it('is e2ee for encrypted content', () => {
    expect(
      weakest(oneModel(tee, { ...tee, provider: 'sealed', privacy: 'e2ee' }), {}, { needs: { encrypted: true } }),
    ).toBe('e2ee');
  });

  it('under `require_parameters` counts a route that takes what a stronger one does not', () => {
    const listed = { ...tee, supportedParameters: ['seed'] };
    const catalog = oneModel(listed, { ...priv, supportedParameters: ['seed', 'stop'] });
    expect(weakest(catalog, { provider: { require_parameters: true } })).toBe('private');
    expect(weakest(catalog, { provider: { require_parameters: true, minimum_privacy: 'tee' } })).toBe('tee');
    expect(weakest(catalog)).toBe('tee');
    expect(weakest(oneModel(tee, priv), { provider: { require_parameters: true } })).toBe('tee');
    // A body with a seed reaches the weaker route alone.
    const seedless = { ...tee, missingParameters: ['seed'] as const };
    expect(weakest(oneModel(seedless, priv), { provider: { require_parameters: true } })).toBe('private');
    // A body with an effort reaches the weaker route alone, and one that asks for JSON.
    for (const more of [{ reasoning: { efforts: ['low'], canDisable: true } }, { structuredOutput: true }] as const) {
      const able = { ...priv, capabilities: { ...priv.capabilities, ...more } };
      expect(weakest(oneModel(tee, able), { provider: { require_parameters: true } })).toBe('private');
    }
  });

  it('is refused as the plan of a body without needs is', () => {
    expect(refusalOf(decideClass(oneModel(anon), { provider: { minimum_privacy: 'tee' } })).type).toBe(
      'no_provider_route_meets_privacy',
    );
    expect(refusalOf(decideClass(oneModel(tee), { model: 'lab/none' })).type).toBe('model_not_found');
    expect(refusalOf(decideClass(oneModel(tee), { provider: { only: ['a'], ignore: ['a'] } })).type).toBe(
      'provider_policy_conflict',
    );
  });

  it('does not depend on penalties', () => {
    expect(weakest(oneModel(tee, priv), byPrice, { status: penalizing('encl') })).toBe('tee');
  });
});

describe('weakestReachableClass never overstates', () => {
  it('no route of any plan, for any body and at any time, is weaker', () => {
    fc.assert(
      fc.property(
        ...[anyCatalog, anyPreferences, anyRequest, anyBodies(12), fc.array(anyStatus, { minLength: 2, maxLength: 3 })],
        (catalog, preferences, request, bodies, times) => {
          const random = bestOfBand;
          const minting = { ...bodies[0], ...{ promptTokens: 0, maxOutputTokens: undefined, optionalParameters: [] } };
          const noBody = needing({ ...minting, tools: false, vision: false, structuredOutput: false });
          const [status = contextOf(catalog).status, ...later] = times;
          const promised = weakestReachableClass(request, noBody, { catalog, preferences, status, random });
          fc.pre(promised.ok);
          for (const then of [status, ...later]) {
            for (const body of [noBody, ...bodies]) {
              const plan = planRequest(request, body, { catalog, preferences, status: then, random });
              for (const route of plan.ok ? sentTo(plan.value) : []) {
                expect(comparePrivacy(route.privacyClass, accepted(promised))).toBeGreaterThanOrEqual(0);
              }
            }
          }
        },
      ),
      { numRuns: 300 },
    );
  });
});

/** More tokens than any route limits. */
const unlimited = 2 ** 40;

/** Every kind of body that these routes can tell apart: what it needs, its prompt and its output ceiling. */
function everyBody(routes: readonly Route[], needs: Needs): readonly Needs[] {
  const windows = [...new Set(routes.map(({ contextLength = unlimited }) => contextLength))];
  const answers = [...new Set([1, ...routes.map(({ maxOutputTokens = unlimited }) => maxOutputTokens)])];
  const tiers = routes.flatMap(({ price }) => (price.tiers ?? []).map((tier) => tier.abovePromptTokens));
  const beside = windows.flatMap((window) => answers.map((answer) => window - answer));
  const prompts = [...new Set([0, ...tiers, ...tiers.map((above) => above + 1), ...beside])].filter(
    (each) => each >= 0,
  );
  const sizes = prompts.flatMap((promptTokens) => {
    const rest = windows.map((window) => window - promptTokens).filter((left) => left > 0);
    return [undefined, ...new Set([...answers, ...rest])].map((maxOutputTokens) => ({ promptTokens, maxOutputTokens }));
  });
  return capabilities.flatMap((needed) => sizes.map((size) => ({ ...needs, ...needed, ...size })));
}

const flags = [false, true];
const capabilities = flags.flatMap((tools) =>
  flags.flatMap((vision) => flags.map((structuredOutput) => ({ tools, vision, structuredOutput }))),
);

/** A time at which one route works as well as a route can, and all others fail. */
function favouring(route: Route, routes: readonly Route[]): RouteStatus {
  const best = { successes: measurementMinimum, ttftMs: 0, tokensPerSecond: Number.MAX_SAFE_INTEGER };
  const worst = { successes: 0, ttftMs: Number.MAX_SAFE_INTEGER, tokensPerSecond: 0 };
  return {
    measurements: new Map(
      routes.map(({ id }) => [id, { requests: measurementMinimum, ...(id === route.id ? best : worst) }]),
    ),
    penalized: ({ id }) => id !== route.id,
  };
}

/** The definition of the class: that of the weakest route to which any body could be sent, at a time that favours it. */
function byBruteForce(request: RoutingRequest, needs: Needs, context: PlanningContext): PrivacyClass {
  const routes = [...context.catalog.models.values()].flatMap((model) => model.routes);
  let weakest: PrivacyClass = 'e2ee';
  const count = (body: Needs, status: RouteStatus): void => {
    const plan = planRequest(request, body, { ...context, status });
    for (const { privacyClass } of plan.ok ? sentTo(plan.value) : []) {
      if (comparePrivacy(privacyClass, weakest) < 0) weakest = privacyClass;
    }
  };
  count(needs, context.status);
  const bodies = everyBody(routes, needs);
  for (const route of routes) {
    const status = favouring(route, routes);
    for (const body of bodies) {
      if (comparePrivacy(route.privacyClass, weakest) >= 0) break;
      count(body, status);
    }
  }
  return weakest;
}

describe('weakestReachableClass is what planning every body at every time would find', () => {
  /**
   * If lists of parameters differ between routes, `require_parameters` counts every route that may serve, so these are
   * not compared.
   */
  const withoutLists = anyCatalog.map((catalog) =>
    aCatalog(
      ...[...catalog.models.values()].map((model) => ({
        ...model,
        routes: model.routes.map((route) => ({ ...route, supportedParameters: undefined, exclusiveParameters: [] })),
      })),
    ),
  );
  const oneOrAuto = anyRequest.map(({ models: _, ...request }) => request);
  const several = fc
    .tuple(anyRequest, fc.shuffledSubarray(['lab/one', 'lab/two', 'lab/three'], { minLength: 2 }))
    .map(([{ provider }, [model = '', ...models]]) => ({ model, models, provider }));

  it.each([
    ['one model and `/auto`', oneOrAuto],
    ['several models', several],
  ])(
    'of %s',
    (_name, requests) => {
      let weaker = 0;
      fc.assert(
        fc.property(
          ...[withoutLists, anyPreferences, requests, anyStatus, fc.boolean()],
          (catalog, preferences, request, status, encrypted) => {
            const context = { catalog, preferences, status, random: bestOfBand };
            const needs = needing({ encrypted });
            const plan = planRequest(request, needs, context);
            fc.pre(plan.ok);
            // Each model separately, because the model that `/auto` chooses may change before the ticket is used.
            const isAuto = request.model.startsWith('/auto');
            const catalogs = isAuto ? [...catalog.models.values()].map((model) => aCatalog(model)) : [catalog];
            const found = catalogs.map((within) => byBruteForce(request, needs, { ...context, catalog: within }));
            const expected = weakestOf(found);
            const promised = accepted(weakestReachableClass(request, needs, context));
            const { provider } = request;
            // Under `require_parameters`, a body that asks for JSON may exclude routes that the bodies above do not.
            if (typeof provider === 'object' && provider?.require_parameters === true) {
              expect(comparePrivacy(promised, expected)).toBeLessThanOrEqual(0);
            } else expect(promised).toBe(expected);
            if (expected !== weakestOf(sentTo(accepted(plan)).map(({ privacyClass }) => privacyClass))) weaker += 1;
          },
        ),
        { numRuns: 80 },
      );
      expect(weaker).toBeGreaterThan(5);
    },
    60_000,
  );
});

const weakestOf = (classes: readonly PrivacyClass[]): PrivacyClass =>
  classes.reduce((weakest, each) => (comparePrivacy(each, weakest) < 0 ? each : weakest), 'e2ee');
