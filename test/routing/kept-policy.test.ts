import { keptPolicy } from '@sotto/client/testing';
import { attemptsOf, type PlanningContext, planRequest, type Route } from '@sotto/router';
import { anyCatalog, anyExactRequest, anyNeeds, anyPreferences, anyStatus, theModel } from '@sotto/router/testing';
import fc from 'fast-check';
import { expect, it } from 'vitest';

const anySituation = fc.record({
  catalog: anyCatalog,
  preferences: anyPreferences,
  request: anyExactRequest,
  needs: anyNeeds,
  before: anyStatus,
  after: anyStatus,
  draw: fc.double({ min: 0, max: 0.999, noNaN: true }),
  attempt: fc.nat({ max: 2 }),
});

// The client writes a policy that its user did not write. Between two turns, routes fail and are measured anew, and any attempt may
// have served. Whatever comes, the policy must choose only among routes that the user's own policy allows, and never a weaker one.
it('a conversation that stays with its provider has the routes of its own plan, of the class that served', () => {
  let kept = 0;
  fc.assert(
    fc.property(anySituation, ({ catalog, preferences, request, needs, before, after, draw, attempt }) => {
      fc.pre(!needs.encrypted && request.model === theModel);
      const context = (status: PlanningContext['status']) => ({ catalog, preferences, status, random: () => draw });
      const own = planRequest(request, needs, context(before));
      const served = own.ok ? attemptsOf(own.value)[attempt] : undefined;
      fc.pre(own.ok && served !== undefined && served.publicProviderId !== 'other');
      const routes = catalog.models.get(theModel)?.routes ?? [];
      const provider = keptBy(request.provider, { routes, preferences, needs, served });
      if (provider === undefined) return;
      kept += 1;
      const plan = planRequest({ ...request, provider }, needs, context(after));
      expect(plan).toMatchObject({ ok: true, value: { maxAttempts: own.value.maxAttempts } });
      if (!plan.ok) return;
      const [first] = plan.value.routes;
      expect(`${first?.publicProviderId}/`.startsWith(`${served.publicProviderId}/`)).toBe(true);
      const expected = own.value.routes.filter(({ privacyClass }) => privacyClass === served.privacyClass);
      const ids = plan.value.routes.map(({ id }) => id);
      expect(ids.toSorted()).toEqual(expected.map(({ id }) => id).toSorted());
    }),
    { numRuns: 500 },
  );
  // If it kept none, the checks above would prove nothing.

  expect(kept).toBeGreaterThan(10);
});

// Between two turns, the user's own policy may change, and the workspace's preferences: what served before may no longer be allowed.
it('a turn with a stricter policy than the one before has no route that its own policy does not allow', () => {
  let kept = 0;
  const anyTurn = fc.record({
    catalog: anyCatalog,
    preferences: anyPreferences,
    request: anyExactRequest,
    floor: fc.constantFrom(undefined, 'anonymous', 'private', 'tee'),
    needs: anyNeeds,
    status: anyStatus,
    draw: fc.double({ min: 0, max: 0.999, noNaN: true }),
    at: fc.nat(),
  });
  fc.assert(
    fc.property(anyTurn, ({ catalog, preferences, request, floor, needs, status, draw, at }) => {
      const routes = catalog.models.get(theModel)?.routes ?? [];
      const served = routes[at % routes.length];
      fc.pre(!needs.encrypted && request.model === theModel && served !== undefined);
      const own = { ...request, provider: floor === undefined ? undefined : { minimum_privacy: floor } } as const;
      const provider = keptBy(own.provider, { routes, preferences, needs, served });
      if (provider === undefined) return;
      kept += 1;
      const context = { catalog, preferences, status, random: () => draw };
      const [allowed, plan] = [planRequest(own, needs, context), planRequest({ ...own, provider }, needs, context)];
      const ids = allowed.ok ? allowed.value.routes.map(({ id }) => id) : [];
      if (plan.ok) expect(ids).toEqual(expect.arrayContaining(plan.value.routes.map(({ id }) => id)));
    }),
    { numRuns: 2000 },
  );
  expect(kept).toBeGreaterThan(10);
});

interface Situation {
  readonly routes: readonly Route[];
  readonly preferences: PlanningContext['preferences'];
  readonly needs: { readonly tools: boolean };
  readonly served: Pick<Route, 'publicProviderId' | 'privacyClass'>;
}

const keptBy = (provider: unknown, { routes, preferences, needs, served }: Situation) =>
  keptPolicy({
    ...{ provider, needsTools: needs.tools, model: theModel },
    served: { provider: served.publicProviderId, privacyClass: served.privacyClass },
    facts: {
      preferences,
      routesOf: () =>
        routes.map(({ publicProviderId, privacyClass, capabilities }) => ({
          ...{ provider: publicProviderId, privacyClass, hasTools: capabilities.tools },
        })),
    },
  });
