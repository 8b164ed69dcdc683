import { comparePrivacy, type Preferences, type PrivacyClass, type ProviderPolicyObject } from '@sotto/wire';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Catalog, Route } from '../catalog/catalog.ts';
import {
  accepted,
  allHealthy,
  anyCatalog,
  anyExactRequest,
  anyNeeds,
  anyPreferences,
  anyRequest,
  anyStatus,
} from '../testing/fixtures.ts';
import type { Needs } from './needs.ts';
import type { RouteStatus } from './order-routes.ts';
import { attemptsOf, type Plan, planRequest, type RoutingRequest } from './plan-request.ts';
import { bestOfBand } from './planning-context.ts';

interface Situation {
  readonly catalog: Catalog;
  readonly preferences: Preferences;
  readonly request: RoutingRequest;
  readonly needs: Needs;
  readonly status: RouteStatus;
}
const situationOf = (request: fc.Arbitrary<RoutingRequest>): fc.Arbitrary<Situation> =>
  fc.record({ catalog: anyCatalog, preferences: anyPreferences, request, needs: anyNeeds, status: anyStatus });
const decisionOf = ({ request, needs, ...context }: Situation, random = bestOfBand) =>
  planRequest(request, needs, { ...context, random });

/** Checks a property in 300 situations that have a plan. */
function always(situation: fc.Arbitrary<Situation>, check: (plan: Plan, of: Situation) => void): void {
  const property = fc.property(situation, (each) => {
    const decision = decisionOf(each);
    fc.pre(decision.ok);
    check(accepted(decision), each);
  });
  fc.assert(property, { numRuns: 300 });
}
const anySituation = situationOf(anyRequest);
const exactSituation = situationOf(anyExactRequest);

const atLeast = (a: PrivacyClass, b: PrivacyClass): boolean => comparePrivacy(a, b) >= 0;
const idsOf = (plan: Plan): string[] => plan.routes.map((route) => route.id);
const statedMinimum = ({ provider }: RoutingRequest): PrivacyClass => {
  const stated = typeof provider === 'object' ? provider?.minimum_privacy : undefined;
  return stated ?? 'anonymous';
};
const boundary = { Standard: 'anonymous', Private: 'private', Maximum: 'tee' } as const;

describe('every plan', () => {
  it('has no route below the boundary, the workspace’s minimum or the request’s', () => {
    always(anySituation, (plan, { preferences, request }) => {
      for (const { privacyClass } of plan.routes) {
        expect(atLeast(privacyClass, boundary[preferences.privacy_boundary])).toBe(true);
        expect(atLeast(privacyClass, preferences.provider_minimum_privacy)).toBe(true);
        expect(atLeast(privacyClass, statedMinimum(request))).toBe(true);
      }
    });
  });

  it('holds no anonymous route under another sort than privacy, unless the request asks for it', () => {
    always(exactSituation, (plan, { request }) => {
      const asked = typeof request.provider === 'object' && request.provider?.minimum_privacy === 'anonymous';
      if (asked || !['price', 'latency', 'throughput'].includes(plan.policy.sort)) return;
      for (const route of plan.routes) expect(route.privacyClass).not.toBe('anonymous');
    });
  });

  it('holds no route that is weaker than a healthy first one and below the fallback floor', () => {
    const healthy = anySituation.map((each) => ({ ...each, status: { ...each.status, penalized: () => false } }));
    always(healthy, (plan, { preferences }) => {
      const [first, ...rest] = plan.routes;
      const floor = preferences.fallback_floor;
      for (const { privacyClass } of rest) {
        const weaker = first !== undefined && !atLeast(privacyClass, first.privacyClass);
        if (weaker && floor !== null) expect(atLeast(privacyClass, floor)).toBe(true);
      }
    });
  });

  it('steps down only where the request or the workspace says so', () => {
    always(exactSituation, (plan, { preferences, request, status }) => {
      const { provider } = request;
      const says = typeof provider === 'object' && (provider?.minimum_privacy ?? provider?.order) !== undefined;
      if (says || preferences.fallback_floor !== null || plan.routes.some(status.penalized)) return;
      const classes = plan.routes.map((route) => route.privacyClass);
      for (const privacyClass of classes) expect(atLeast(privacyClass, classes[0] ?? 'e2ee')).toBe(true);
    });
  });

  it('sends plaintext to no e2ee route, and encrypted content to no other', () => {
    always(anySituation, (plan, { needs }) => {
      for (const route of plan.routes) expect(route.privacyClass === 'e2ee').toBe(needs.encrypted);
    });
  });

  it('names no route twice, and no provider twice for a model', () => {
    always(anySituation, (plan) => {
      expect(new Set(idsOf(plan)).size).toBe(plan.routes.length);
      const pairs = plan.routes.map((route) => `${route.modelId} ${route.providerId}`);
      expect(new Set(pairs).size).toBe(pairs.length);
    });
  });

  it('has at least one route, and tries no more than request and workspace allow', () => {
    always(anySituation, (plan, { preferences, request }) => {
      const { provider } = request;
      const attempts = attemptsOf(plan);
      expect(attempts.length).toBeGreaterThan(0);
      expect(attempts).toEqual(plan.routes.slice(0, attempts.length));
      expect(attempts.length).toBeLessThanOrEqual(Math.min(3, preferences.provider_max_attempts));
      const single = typeof provider === 'string' || provider?.allow_fallbacks === false;
      if (single || !preferences.provider_allow_fallbacks) expect(attempts).toHaveLength(1);
      if (typeof provider === 'object') expect(attempts.length).toBeLessThanOrEqual(provider?.max_attempts ?? 3);
    });
  });

  it('uses no disabled provider, and none that the request excludes', () => {
    const names = (entries: readonly string[], { publicProviderId: id }: Route): boolean =>
      entries.some((entry) => id === entry || id.startsWith(`${entry}/`));
    always(anySituation, (plan, { preferences, request }) => {
      const { provider } = request;
      const { only, ignore = [] } = typeof provider === 'string' ? { only: [provider] } : (provider ?? {});
      for (const route of plan.routes) {
        expect(names(preferences.provider_ignore, route)).toBe(false);
        expect(names(ignore, route)).toBe(false);
        if (only !== undefined) expect(names(only, route)).toBe(true);
      }
    });
  });

  it('uses no route above either price ceiling', () => {
    always(anySituation, (plan, { preferences, request }) => {
      const own = typeof request.provider === 'object' ? request.provider?.max_price : undefined;
      for (const { price } of plan.routes) {
        for (const ceiling of [own, preferences.max_price]) {
          expect(price.input).toBeLessThanOrEqual((ceiling?.input ?? 100) * 1e6);
          expect(price.output).toBeLessThanOrEqual((ceiling?.output ?? 100) * 1e6);
        }
      }
    });
  });

  it('uses only routes that hold the request and can do what it needs', () => {
    always(anySituation, (plan, { needs }) => {
      for (const { contextLength = 1e9, maxOutputTokens = 1e9, capabilities } of plan.routes) {
        expect(needs.promptTokens + (needs.maxOutputTokens ?? 0)).toBeLessThanOrEqual(contextLength);
        expect(needs.maxOutputTokens ?? 0).toBeLessThanOrEqual(maxOutputTokens);
        for (const name of ['tools', 'vision', 'structuredOutput'] as const) {
          expect(capabilities[name] || !needs[name]).toBe(true);
        }
      }
    });
  });
});

describe('planning', () => {
  const shuffled = anySituation.chain((situation) =>
    fc
      .tuple(
        ...[...situation.catalog.models.values()].map((model) =>
          fc
            .shuffledSubarray([...model.routes], { minLength: model.routes.length })
            .map((routes) => [model.id, { ...model, routes }] as const),
        ),
      )
      .map((models) => ({ ...situation, other: { ...situation.catalog, models: new Map(models) } })),
  );

  it('gives the same answer each time, wherever routes stand in the catalog', () => {
    fc.assert(
      fc.property(shuffled, ({ other, ...situation }) => {
        const decision = decisionOf(situation);
        const again = decisionOf({ ...situation, catalog: other });
        fc.pre(decision.ok);
        expect(again.ok && idsOf(again.value)).toEqual(idsOf(accepted(decision)));
        const repeated = decisionOf(situation);
        expect(repeated.ok && idsOf(repeated.value)).toEqual(idsOf(accepted(decision)));
      }),
      { numRuns: 300 },
    );
  });

  it('refuses with the same error wherever routes stand in the catalog', () => {
    fc.assert(
      fc.property(shuffled, ({ other, ...situation }) => {
        const decision = decisionOf(situation);
        fc.pre(!decision.ok);
        expect(decisionOf({ ...situation, catalog: other })).toEqual(decision);
      }),
      { numRuns: 200 },
    );
  });
});

describe('penalties', () => {
  const exactModels = situationOf(
    anyRequest.filter(({ model, models }) => ![model, ...(models ?? [])].some((name) => name.startsWith('/auto'))),
  );
  const healthyPlan = (situation: Situation): Plan =>
    accepted(decisionOf({ ...situation, status: { ...situation.status, penalized: () => false } }));

  it('only reorder: the routes of a plan, and how many are tried, are those of a healthy day', () => {
    let moved = 0;
    const fallingBack = exactModels.map((each) => ({
      ...each,
      request: { ...each.request, model: 'lab/one:floor', models: ['lab/two'], provider: undefined },
    }));
    always(fc.oneof(exactModels, fallingBack), (plan, situation) => {
      const healthy = healthyPlan(situation);
      expect(idsOf(plan).sort()).toEqual(idsOf(healthy).sort());
      expect(plan.maxAttempts).toBe(healthy.maxAttempts);
      if (idsOf(plan).join() !== idsOf(healthy).join()) moved += 1;
    });
    expect(moved).toBeGreaterThan(0);
  });

  it('refuse nothing', () => {
    fc.assert(
      fc.property(exactModels, (situation) => {
        const healthy = { ...situation, status: { ...situation.status, penalized: () => false } };
        expect(decisionOf(situation).ok).toBe(decisionOf(healthy).ok);
      }),
      { numRuns: 200 },
    );
  });

  it('leave the sequence of classes as it is under privacy sort', () => {
    const byPrivacy = exactModels.map((each) => ({
      ...each,
      request: { ...each.request, model: 'lab/one', models: ['lab/two'], provider: { max_attempts: 3 } },
    }));
    always(byPrivacy, (plan, situation) => {
      const classes = (of: Plan): PrivacyClass[] => of.routes.map((route) => route.privacyClass);
      expect(classes(plan)).toEqual(classes(healthyPlan(situation)));
    });
  });

  it('change nothing where every route is penalized', () => {
    always(exactModels, (_, situation) => {
      const sick = decisionOf({ ...situation, status: { ...situation.status, penalized: () => true } });
      expect(idsOf(accepted(sick))).toEqual(idsOf(healthyPlan(situation)));
    });
  });

  it('put every penalized route of a model behind its healthy ones under another sort than privacy', () => {
    always(exactSituation, (plan, { status }) => {
      if (!['price', 'latency', 'throughput'].includes(plan.policy.sort) || plan.policy.order.length > 0) return;
      const health = plan.routes.map(status.penalized);
      expect(health).toEqual([...health].sort((a, b) => Number(a) - Number(b)));
    });
  });

  it('leave what an explicit order names where it is', () => {
    const provider: ProviderPolicyObject = { order: ['bolt', 'acme/us', 'acmeco'], minimum_privacy: 'anonymous' };
    const ordered = exactModels.map((each) => ({ ...each, request: { model: 'lab/one', provider } }));
    always(ordered, (plan, situation) => {
      const named = (of: Plan): string[] => idsOf(of).filter((id) => /@(bolt|acme\/us|acmeco)$/.test(id));
      expect(named(plan)).toEqual(named(healthyPlan(situation)));
      expect(idsOf(plan).slice(0, named(plan).length)).toEqual(named(plan));
    });
  });
});

describe('a request that sends no policy', () => {
  it('is planned as the workspace says, within its limits', () => {
    const bare = situationOf(fc.constant({ model: 'lab/one' }));
    always(bare, (plan, { preferences }) => {
      expect(plan.policy).toMatchObject({ sort: preferences.provider_sort, only: undefined, order: [] });
      const attempts = preferences.provider_allow_fallbacks ? preferences.provider_max_attempts : 1;
      expect(plan.maxAttempts).toBeLessThanOrEqual(attempts);
    });
  });

  it('goes to the strongest tier that the catalog has for it, however dear, under privacy sort', () => {
    const bare = situationOf(fc.constant({ model: 'lab/one', provider: { sort: 'privacy' } as const }));
    always(bare, (plan, { catalog, preferences, needs }) => {
      if (preferences.provider_ignore.length > 0 || preferences.max_price !== null) return;
      const able = (catalog.models.get('lab/one')?.routes ?? []).filter(
        ({ capabilities, privacyClass }) =>
          (privacyClass === 'e2ee') === needs.encrypted &&
          (capabilities.tools || !needs.tools) &&
          (capabilities.vision || !needs.vision) &&
          (capabilities.structuredOutput || !needs.structuredOutput),
      );
      for (const route of able) {
        expect(atLeast(plan.routes[0]?.privacyClass ?? 'anonymous', route.privacyClass)).toBe(true);
      }
    });
  });
});

describe('status', () => {
  it('without any measurements or penalties, routes count as healthy', () => {
    always(
      exactSituation.map((each) => ({ ...each, status: allHealthy })),
      (plan, situation) => {
        expect(plan.routes.some(situation.status.penalized)).toBe(false);
        expect(idsOf(plan)).toEqual(idsOf(accepted(decisionOf(situation))));
      },
    );
  });
});
