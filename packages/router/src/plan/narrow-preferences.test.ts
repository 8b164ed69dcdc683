import { comparePrivacy, initialPreferences, type Preferences, type PrivacyClass } from '@sotto/wire';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Catalog } from '../catalog/catalog.ts';
import type { Decision } from '../policy/refusal.ts';
import { asksForE2ee } from '../policy/request-policy.ts';
import {
  aCatalog,
  aModel,
  anyBodies,
  anyCatalog,
  anyPreferences,
  anyRequest,
  anyStatus,
  contextOf,
  needing,
  oneModel,
} from '../testing/fixtures.ts';
import { firstFailing, passesAll } from './eligibility.ts';
import { narrowPreferences, scopeOf } from './narrow-preferences.ts';
import type { Needs } from './needs.ts';
import { planAttested } from './plan-attested.ts';
import { namesOf, type Plan, planRequest, type RoutingRequest } from './plan-request.ts';
import { bestOfBand, type PlanningContext } from './planning-context.ts';
import { factsOf } from './route-facts.ts';
import { weakestReachableClass } from './weakest-class.ts';

/** The context with which a broker plans after it has opened a ticket. */
const narrowed = (request: RoutingRequest, context: PlanningContext): PlanningContext => ({
  ...context,
  preferences: {
    auto: initialPreferences.auto,
    ...narrowPreferences(request, needing(), context, stated(request, context)),
  },
});
/** The class that the ticket of a request states, as control computes it. */
function stated(request: RoutingRequest, context: PlanningContext): PrivacyClass {
  const plain = weakestReachableClass(request, needing(), context);
  const weakest =
    plain.ok || !asksForE2ee(request.provider, context.preferences)
      ? plain
      : weakestReachableClass(request, needing({ encrypted: true }), context);
  return weakest.ok ? weakest.value : 'anonymous';
}
const narrow = (
  catalog: Catalog,
  preferences: Partial<Preferences>,
  request: Partial<RoutingRequest> = {},
): ReturnType<typeof narrowPreferences> =>
  narrowPreferences({ model: 'lab/one', ...request }, needing(), contextOf(catalog, { preferences }), 'anonymous');

const shown = ({ routes, maxAttempts, shares, autoModelIds, choice }: Plan): object => ({
  // Routes that no attempt reaches may be weaker than the stated class.
  attempts: routes.slice(0, maxAttempts).map(({ id }) => id),
  shares: shares.map(({ id }) => id),
  autoModelIds: [...autoModelIds],
  choice: choice?.modelId,
  maxAttempts,
});

describe('narrowed preferences', () => {
  it('plan every body of a request as the whole preferences do', () => {
    let plans = 0;
    fc.assert(
      fc.property(
        anyCatalog,
        anyPreferences,
        anyRequest,
        anyBodies(4),
        anyStatus,
        (catalog, preferences, request, bodies, status) => {
          const whole = { catalog, preferences, status, random: bestOfBand };
          fc.pre(isPlannable(request, whole));
          for (const needs of bodies) {
            const [expected, found] = [whole, narrowed(request, whole)].map((context) =>
              planRequest(request, needs, context),
            );
            expect(found?.ok).toBe(expected?.ok);
            // A route below the stated class no longer decides which of several causes a refusal names.
            if (stated(request, whole) === 'anonymous') expect(typeOf(found)).toBe(typeOf(expected));
            if (!expected?.ok || !found?.ok) continue;
            expect(shown(found.value)).toEqual(shown(expected.value));
            plans += 1;
          }
        },
      ),
      { numRuns: 1500 },
    );
    expect(plans).toBeGreaterThan(1000);
  });

  it('plan evidence of an enclave as the whole preferences do', () => {
    let plans = 0;
    fc.assert(
      fc.property(anyCatalog, anyPreferences, anyRequest, anyStatus, (catalog, preferences, request, status) => {
        const whole = { catalog, preferences, status, random: bestOfBand };
        const expected = planAttested(request, whole);
        if (!expected.ok) return;
        const found = planAttested(request, narrowed(request, whole));
        expect(found.ok && found.value.id).toBe(expected.value.id);
        plans += 1;
      }),
      { numRuns: 1000 },
    );
    expect(plans).toBeGreaterThan(300);
  });

  it('reach no route that the whole preferences forbid or that is weaker than the ticket states, whatever catalog comes after the ticket was sealed', () => {
    let plans = 0;
    fc.assert(
      fc.property(
        anyCatalog,
        anyCatalog,
        anyPreferences,
        anyRequest,
        anyBodies(2),
        (before, after, preferences, request, bodies) => {
          const whole = contextOf(before, { preferences });
          fc.pre(isPlannable(request, whole));
          const ticket = { ...narrowed(request, whole), catalog: after };
          const promised = stated(request, whole);
          for (const needs of bodies) {
            const plan = planRequest(request, needs, ticket);
            if (!plan.ok) continue;
            const scopes = namesOf(request).map((name) => scopeOf(name, request, needs, { ...whole, catalog: after }));
            for (const route of plan.value.routes) {
              const isAllowed = scopes.some(
                ({ models, demands }) =>
                  models.some(({ id }) => id === route.modelId) && firstFailing(factsOf(route), demands) === passesAll,
              );
              expect(isAllowed, route.id).toBe(true);
              expect(comparePrivacy(route.privacyClass, promised), route.id).toBeGreaterThanOrEqual(0);
            }
            plans += 1;
          }
        },
      ),
      { numRuns: 1500 },
    );
    expect(plans).toBeGreaterThan(300);
  });

  const four = oneModel(
    { provider: 'open', privacy: 'anonymous', input: 1, output: 2 },
    { provider: 'acme', privacy: 'private', input: 3, output: 6 },
    { provider: 'bolt', privacy: 'private', input: 4, output: 8 },
    { provider: 'vault', privacy: 'tee', input: 9, output: 9 },
  );

  it.each<[string, Partial<Preferences>, Partial<Preferences>]>([
    [
      'disabled providers without a route of the model',
      { provider_ignore: ['acme', 'elsewhere'] },
      { provider_ignore: ['acme'] },
    ],
    [
      'disabled providers below the floor',
      { provider_ignore: ['open'], privacy_boundary: 'Private' },
      { privacy_boundary: 'Private' },
    ],
    [
      'a boundary and a minimum that demand the same',
      { privacy_boundary: 'Private' },
      { provider_minimum_privacy: 'private' },
    ],
    ['ceilings between the same two prices', { max_price: { input: 3.123456 } }, { max_price: { input: 3.9 } }],
    ['ceilings above all prices', { max_price: { input: 100, output: 41.5 } }, { max_price: { input: 9, output: 9 } }],
    [
      'a fallback floor below the minimum',
      { provider_minimum_privacy: 'private', fallback_floor: 'anonymous' },
      { provider_minimum_privacy: 'private', fallback_floor: 'private' },
    ],
    [
      'what `/auto` may do',
      { auto: { strategy: 'cheapest', tiers: 'Maximum', models: { mode: 'only', ids: ['lab/two'] } } },
      {},
    ],
    ['fallbacks that are off, and one attempt', { provider_allow_fallbacks: false }, { provider_max_attempts: 1 }],
  ])('do not tell apart %s', (_, one, other) => {
    expect(narrow(four, one)).toEqual(narrow(four, other));
  });

  it('name the providers that may serve the request, in an order of their own', () => {
    expect(narrow(four, { provider_ignore: ['bolt'], provider_minimum_privacy: 'private' })).toEqual({
      provider_allow_fallbacks: true,
      provider_max_attempts: 3,
      provider_minimum_privacy: 'private',
      provider_sort: 'default',
      provider_ignore: [],
      provider_allow: ['acme', 'vault'],
      privacy_boundary: 'Standard',
      fallback_floor: null,
      max_price: null,
    });
    expect(narrow(four, {}, { provider: { only: ['vault', 'open'] } }).provider_allow).toEqual(['open', 'vault']);
  });

  it('keep the workspace’s sort for requests that take it only', () => {
    const sorted = { provider_sort: 'latency' } as const;
    expect(narrow(four, sorted).provider_sort).toBe('latency');
    expect(narrow(four, sorted, { provider: { max_attempts: 2 } }).provider_sort).toBe('default');
    expect(narrow(four, sorted, { model: 'lab/one:floor' }).provider_sort).toBe('default');
  });

  it('say of `/auto` what it may choose from, and nothing of models that are not in the catalog', () => {
    const catalog = aCatalog(
      ...['lab/one', 'lab/two', 'lab/three'].map((id) =>
        aModel(id, [{ provider: id === 'lab/three' ? 'bolt' : 'acme' }]),
      ),
    );
    const auto = { strategy: 'fastest', tiers: 'Private' } as const;
    const except = { ...auto, models: { mode: 'except' as const, ids: ['lab/two', 'lab/of-long-ago'] } };
    const narrowedAuto = (preferences: Partial<Preferences>) => narrow(catalog, preferences, { model: '/auto' }).auto;
    expect(narrowedAuto({ auto: except })).toEqual({
      ...auto,
      models: { mode: 'only', ids: ['lab/one', 'lab/three'] },
    });
    expect(narrowedAuto({ auto: { ...auto, models: { mode: 'all', ids: ['lab/two'] } } })?.models).toEqual({
      mode: 'all',
      ids: [],
    });
  });
});

/**
 * The error type of a decision. A ticket does not say whether a floor is the workspace's boundary, so both privacy
 * errors count as one.
 */
function typeOf(decision: Decision<Plan> | undefined): string | undefined {
  if (decision === undefined || decision.ok) return decision && 'ok';
  const { type } = decision.refusal;
  return type === 'privacy_boundary_not_met' ? 'no_provider_route_meets_privacy' : type;
}

/** Whether control would mint a ticket: the request can be planned for some body. */
function isPlannable(request: RoutingRequest, context: PlanningContext): boolean {
  const bodies: readonly Needs[] = [needing(), needing({ encrypted: true })];
  return bodies.some((needs) => planRequest(request, needs, context).ok);
}
