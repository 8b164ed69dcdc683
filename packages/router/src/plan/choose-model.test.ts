import type { Preferences } from '@sotto/wire';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Catalog } from '../catalog/catalog.ts';
import { mergePolicy } from '../policy/merge-policy.ts';
import { readRequestPolicy } from '../policy/request-policy.ts';
import {
  aCatalog,
  accepted,
  allHealthy,
  aModel,
  anyCatalog,
  anyNeeds,
  anyPolicy,
  anyPreferences,
  anyStatus,
  decide,
  penalizing,
  planned,
  type RouteSketch,
  refusalOf,
  type Surroundings,
} from '../testing/fixtures.ts';
import { compareByStrategy } from './auto-strategy.ts';
import { autoDemands } from './choose-model.ts';
import type { Needs } from './needs.ts';
import type { RouteStatus } from './order-routes.ts';
import { planModel } from './plan-model.ts';
import { planRequest, type RoutingRequest } from './plan-request.ts';
import { bestOfBand, type PlanningContext } from './planning-context.ts';
import { type ScoredRoute, scoredRoutesOf } from './scored-route.ts';

// `decisions.test.ts` tests what `docs/reference/routing-by-example.md` shows. These tests are for the rest.

type Auto = Preferences['auto'];
const auto = (changes: Partial<Auto> = {}): { auto: Auto } => ({
  auto: { strategy: 'balanced', tiers: 'Standard', models: { mode: 'all', ids: [] }, ...changes },
});
const chosen = (
  catalog: Catalog,
  request: Partial<RoutingRequest> = {},
  around: Surroundings = {},
): string | undefined => {
  const plan = planned(catalog, { model: '/auto', ...request }, { preferences: auto(), ...around });
  expect([...plan.autoModelIds]).toEqual([plan.routes[0]?.modelId]);
  expect(new Set(plan.routes.map((route) => route.modelId)).size).toBe(1);
  return plan.routes[0]?.modelId;
};
const refusal = (catalog: Catalog, request: Partial<RoutingRequest> = {}, around: Surroundings = {}) =>
  refusalOf(decide(catalog, { model: '/auto', ...request }, { preferences: auto(), ...around }));
const models = (sketches: Record<string, RouteSketch[]>): Catalog =>
  aCatalog(...Object.entries(sketches).map(([id, routes]) => aModel(id, routes)));

describe('/auto and the policy', () => {
  const catalog = models({ 'lab/a': [{ provider: 'acme', input: 1 }], 'lab/b': [{ provider: 'bolt', input: 2 }] });

  it('chooses only among models with an eligible route under the policy', () => {
    expect(chosen(catalog)).toBe('lab/a');
    expect(chosen(catalog, { provider: 'bolt' })).toBe('lab/b');
    expect(chosen(catalog, { provider: { ignore: ['acme'] } })).toBe('lab/b');
    expect(chosen(catalog, {}, { preferences: { ...auto(), provider_ignore: ['acme'] } })).toBe('lab/b');
  });

  it('then selects providers for the chosen model', () => {
    const several = models({
      'lab/a': [
        { provider: 'acme', input: 2 },
        { provider: 'bolt', input: 1 },
      ],
    });
    const plan = planned(several, { model: '/auto', provider: { order: ['acme'] } });
    expect(plan.routes.map((route) => route.providerId)).toEqual(['acme', 'bolt']);
  });

  it('takes suffixes as any model does', () => {
    const request = { model: '/auto:floor' };
    expect(planned(catalog, request).policy.sort).toBe('price');
    expect(chosen(catalog, request)).toBe('lab/a');
  });

  it('chooses only among models of the kind that the endpoint serves', () => {
    const mixed = aCatalog(
      aModel('lab/embed', [{ provider: 'acme', input: 0 }], 'embedding'),
      aModel('lab/a', [{ provider: 'acme' }]),
    );
    expect(chosen(mixed)).toBe('lab/a');
    expect(chosen(mixed, {}, { preferences: auto(), needs: { modelType: 'embedding' } })).toBe('lab/embed');
  });
});

describe('/auto and the workspace', () => {
  const catalog = models({
    'lab/anon': [{ provider: 'acme', privacy: 'anonymous', input: 0 }],
    'lab/priv': [{ provider: 'acme', privacy: 'private', input: 1 }],
    'lab/encl': [{ provider: 'acme', privacy: 'tee', input: 2 }],
  });
  const cheapest = (changes: Partial<Auto>, preferences: Partial<Preferences> = {}): string | undefined =>
    chosen(catalog, {}, { preferences: { ...preferences, ...auto({ strategy: 'cheapest', ...changes }) } });

  it.each([
    ['Standard', 'lab/anon'],
    ['Private', 'lab/priv'],
    ['Maximum', 'lab/encl'],
  ] as const)('the allowed tiers %s begin with %s', (tiers, model) => {
    expect(cheapest({ tiers })).toBe(model);
  });

  it('allowed tiers never go below the boundary or the floor', () => {
    expect(cheapest({ tiers: 'Standard' }, { privacy_boundary: 'Maximum' })).toBe('lab/encl');
    expect(cheapest({ tiers: 'Standard' }, { provider_minimum_privacy: 'private' })).toBe('lab/priv');
    expect(chosen(catalog, { provider: { minimum_privacy: 'tee' } })).toBe('lab/encl');
  });

  it('allowed tiers hold for fallbacks too, whatever the request states', () => {
    const mixed = models({
      'lab/a': [
        { provider: 'encl', privacy: 'tee' },
        { provider: 'anon', privacy: 'anonymous' },
      ],
    });
    const request = { model: '/auto', provider: { minimum_privacy: 'anonymous' } } as const;
    const providers = (tiers: Auto['tiers']): string[] =>
      planned(mixed, request, { preferences: auto({ tiers }) }).routes.map((route) => route.providerId);
    expect(providers('Private')).toEqual(['encl']);
    expect(providers('Standard')).toEqual(['encl', 'anon']);
  });

  it('chooses among all models, only these, or all except these', () => {
    expect(cheapest({ models: { mode: 'all', ids: ['lab/encl'] } })).toBe('lab/anon');
    expect(cheapest({ models: { mode: 'only', ids: ['lab/encl', 'lab/priv'] } })).toBe('lab/priv');
    expect(cheapest({ models: { mode: 'except', ids: ['lab/anon', 'lab/priv'] } })).toBe('lab/encl');
    expect(cheapest({ models: { mode: 'except', ids: [] } })).toBe('lab/anon');
  });
});

describe('strategies of /auto', () => {
  const cheap: RouteSketch = { provider: 'cheap', privacy: 'private', input: 1 };
  const safe: RouteSketch = { provider: 'safe', privacy: 'tee', input: 2 };
  const dear: RouteSketch = { provider: 'dear', privacy: 'tee', input: 3 };
  const catalog = models({ 'lab/cheap': [cheap], 'lab/dear': [dear], 'lab/safe': [safe] });
  const latencies = new Map(
    Object.entries({ cheap: 300, dear: 100, safe: 200 }).map(([name, ttftMs]) => [
      `lab/${name}@${name}`,
      { requests: 20, successes: 20, ttftMs, tokensPerSecond: undefined },
    ]),
  );
  const by = (strategy: Auto['strategy'], status = allHealthy, of = catalog): string | undefined =>
    chosen(of, {}, { preferences: auto({ strategy }), status });

  it('cheapest: by price, then privacy', () => {
    expect(by('cheapest')).toBe('lab/cheap');
    const tie = models({ 'lab/cheap': [{ ...cheap, input: 2 }], 'lab/safe': [safe] });
    expect(by('cheapest', allHealthy, tie)).toBe('lab/safe');
  });

  it('fastest: by time to first token, unmeasured models behind, then price', () => {
    expect(by('fastest', { ...allHealthy, measurements: latencies })).toBe('lab/dear');
    const partly = new Map([...latencies].filter(([id]) => id.includes('cheap')));
    expect(by('fastest', { ...allHealthy, measurements: partly })).toBe('lab/cheap');
    expect(by('fastest')).toBe('lab/cheap');
    const tie = models({ 'lab/cheap': [{ ...cheap, input: 2 }], 'lab/safe': [safe] });
    expect(by('fastest', allHealthy, tie)).toBe('lab/safe');
  });

  it('most_private: by privacy, then price', () => {
    expect(by('most_private')).toBe('lab/safe');
  });

  it('balanced: by privacy, then price, then speed', () => {
    expect(by('balanced')).toBe('lab/safe');
    const tie = models({ 'lab/dear': [{ ...dear, input: 2 }], 'lab/safe': [safe] });
    expect(by('balanced', allHealthy, tie)).toBe('lab/dear');
    const slower = new Map([...latencies].map(([id, m]) => [id, { ...m, ttftMs: id.includes('safe') ? 50 : 90 }]));
    expect(by('balanced', { ...allHealthy, measurements: slower }, tie)).toBe('lab/safe');
  });

  it.each(['cheapest', 'fastest', 'balanced'] as const)('%s: prefers a healthy model', (strategy) => {
    const status = { ...allHealthy, measurements: latencies };
    const best = by(strategy, status) ?? '';
    const sick = penalizing(best.slice('lab/'.length)).penalized;
    expect(by(strategy, { ...status, penalized: sick })).not.toBe(best);
    expect(by(strategy, { ...status, penalized: () => true })).toBe(best);
  });

  it('most_private: prefers a healthy model among equally private ones, and no weaker one', () => {
    expect(by('most_private', penalizing('safe'))).toBe('lab/dear');
    expect(by('most_private', penalizing('safe', 'dear'))).toBe('lab/safe');
  });

  it('takes the first in the catalog if models are equal', () => {
    const equal = models({ 'lab/z': [cheap], 'lab/a': [cheap] });
    for (const strategy of ['cheapest', 'fastest', 'most_private', 'balanced'] as const) {
      expect(by(strategy, allHealthy, equal)).toBe('lab/z');
    }
  });
});

describe('/auto refused', () => {
  const anon: RouteSketch = { provider: 'acme', privacy: 'anonymous', contextLength: 100 };
  const catalog = models({ 'lab/a': [anon], 'lab/b': [{ ...anon, provider: 'bolt' }], 'lab/gone': [] });

  it('below the boundary it is `privacy_boundary_not_met`', () => {
    const preferences = { ...auto(), privacy_boundary: 'Private' } as const;
    expect(refusal(catalog, {}, { preferences }).type).toBe('privacy_boundary_not_met');
  });

  it('below the floor or the allowed tiers it is `no_provider_route_meets_privacy`', () => {
    const stated = { provider: { minimum_privacy: 'private' } } as const;
    expect(refusal(catalog, stated).type).toBe('no_provider_route_meets_privacy');
    const tiers = { preferences: auto({ tiers: 'Private' }) };
    expect(refusal(catalog, {}, tiers)).toMatchObject({
      type: 'no_provider_route_meets_privacy',
      message: expect.stringContaining('private or stronger'),
    });
  });

  it('says how to ask for `anonymous` where the sort carried the floor, and only there', () => {
    const advice = '`provider.minimum_privacy: "anonymous"`';
    expect(refusal(catalog, { model: '/auto:floor' }).message).toContain(advice);
    expect(refusal(catalog, { provider: { sort: 'latency' } }).message).toContain(advice);
    const tiers = { preferences: auto({ tiers: 'Private' }) };
    expect(refusal(catalog, { model: '/auto:floor' }, tiers).message).not.toContain(advice);
  });

  it('is the error of the last rule that left no model, in the order of errors', () => {
    expect(refusal(catalog, { provider: 'nobody' })).toMatchObject({ type: 'no_provider_route', param: 'provider' });
    expect(refusal(catalog, {}, { preferences: auto(), needs: { tools: true } }).type).toBe('no_provider_route');
    expect(refusal(catalog, { provider: { max_price: { input: 0.5 } } })).toMatchObject({
      type: 'no_provider_route_meets_price',
      param: 'provider.max_price',
    });
    expect(refusal(catalog, {}, { preferences: auto(), needs: { promptTokens: 500 } }).type).toBe('context_too_large');
    const either = { provider: { only: ['bolt', 'nobody'], max_price: { input: 0.5 } } };
    expect(refusal(catalog, either).type).toBe('no_provider_route_meets_price');
  });

  it('does not name a model', () => {
    for (const around of [{ needs: { promptTokens: 500 } }, { needs: { tools: true } }]) {
      expect(refusal(catalog, {}, { preferences: auto(), ...around }).message).not.toMatch(/lab\//);
    }
  });

  it('refuses if the workspace allows no model', () => {
    const none = { preferences: auto({ models: { mode: 'only', ids: [] } }) };
    expect(refusal(catalog, {}, none).type).toBe('no_provider_route');
    expect(refusal(aCatalog()).type).toBe('no_provider_route');
  });
});

describe('penalties and the tier of the choice', () => {
  const catalog = models({
    'lab/weak': [{ provider: 'weak', privacy: 'private', input: 2 }],
    'lab/strong': [{ provider: 'strong', privacy: 'tee', input: 1 }],
  });
  it.each(['cheapest', 'fastest', 'balanced', 'most_private'] as const)(
    '%s: a penalty never makes the choice fall on a weaker tier',
    (strategy) => {
      const around = { preferences: auto({ strategy }), status: penalizing('strong') };
      expect(chosen(catalog, {}, around)).toBe('lab/strong');
    },
  );
});

describe('/auto, made quick', () => {
  /** The choice without shortcuts: plans every model and sorts the leads. */
  function slowly(context: PlanningContext, request: RoutingRequest, needs: Needs): string | undefined {
    const own = accepted(readRequestPolicy(request.provider, request.model.endsWith(':floor') ? 'floor' : undefined));
    const demands = autoDemands(mergePolicy(context.preferences, own), needs, context.preferences);
    const { strategy, models: allowed } = context.preferences.auto;
    const healthy = { ...context.status, penalized: () => false };
    const leads = [...context.catalog.models.values()].flatMap((model) => {
      const isAllowed = allowed.mode === 'all' || allowed.ids.includes(model.id) === (allowed.mode === 'only');
      const scored = (status: RouteStatus): ScoredRoute[] => {
        const plan = planModel(model, demands, status);
        const routes = plan.ok ? plan.value.routes.slice(0, 1) : [];
        const scoredRoutes = scoredRoutesOf(model, status.measurements);
        return routes.flatMap(({ id }) => scoredRoutes.find(({ route }) => route.id === id) ?? []);
      };
      const [[first], [now]] = [scored(healthy), scored(context.status)];
      if (!isAllowed || model.type !== needs.modelType || first === undefined || now === undefined) return [];
      return [{ model, first, now, sick: Number(context.status.penalized(now.route)) }];
    });
    const usual = [...leads].sort((a, b) => compareByStrategy(strategy, a.first, b.first))[0];
    const candidates = leads.filter((lead) => lead === usual || lead.now.strength >= (usual?.first.strength ?? 0));
    return candidates.sort((a, b) => a.sick - b.sick || compareByStrategy(strategy, a.now, b.now))[0]?.model.id;
  }

  it('chooses, or refuses, exactly as planning every model would', () => {
    let choices = 0;
    const request = fc.record({ model: fc.constantFrom('/auto', '/auto:floor'), provider: fc.option(anyPolicy) });
    fc.assert(
      fc.property(
        ...[anyCatalog, anyCatalog, anyPreferences, request, anyNeeds, anyStatus],
        (few, more, preferences, asked, needs, status) => {
          // Six models, three of them renamed. That is enough for some to be skipped without planning.
          const others = [...more.models.values()].map((model) => {
            const id = `${model.id}-b`;
            return {
              ...model,
              id,
              routes: model.routes.map((route) => ({ ...route, id: `b${route.id}`, modelId: id })),
            };
          });
          const catalog = aCatalog(...few.models.values(), ...others);
          const context = { catalog, preferences, status, random: bestOfBand };
          const plan = planRequest(asked, needs, context);
          fc.pre(plan.ok || plan.refusal.type !== 'provider_policy_conflict');
          expect(plan.ok ? plan.value.choice?.modelId : undefined).toBe(slowly(context, asked, needs));
          if (plan.ok) choices += 1;
        },
      ),
      { numRuns: 500 },
    );
    expect(choices).toBeGreaterThan(50);
  });

  it('recomputes changed measurements and keeps unchanged ones', () => {
    const catalog = models({ 'lab/a': [{ provider: 'acme' }], 'lab/b': [{ provider: 'bolt' }] });
    const by = (a: number, b: number): string | undefined => {
      const measured = { requests: 20, successes: 20, tokensPerSecond: undefined };
      const measurements = new Map([
        ['lab/a@acme', { ...measured, ttftMs: a }],
        ['lab/b@bolt', { ...measured, ttftMs: b }],
      ]);
      return chosen(
        catalog,
        {},
        { preferences: auto({ strategy: 'fastest' }), status: { ...allHealthy, measurements } },
      );
    };
    expect([by(100, 200), by(100, 200), by(100, 50), by(100, 200), by(300, 200)]).toEqual([
      ...['lab/a', 'lab/a', 'lab/b', 'lab/a', 'lab/b'],
    ]);
  });
});
