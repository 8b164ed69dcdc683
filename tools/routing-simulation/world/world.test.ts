import { describe, expect, it } from 'vitest';
import { models, priceChangeHours } from './catalogs.ts';
import { fateOf } from './fate.ts';
import { brokers } from './traffic.ts';
import { cheapestCost, costOn, drawWorld, type World } from './world.ts';

const climate = { perSecond: 0.05, trouble: 1, teeRoutes: 5 };
const world = drawWorld(1, climate);
const hourMs = 3_600_000;
const routesAt = (of: World, ms: number) => [...of.catalogAt(ms).models.values()].flatMap(({ routes }) => routes);
const fates = (of: World, order: 'forwards' | 'backwards'): Map<string, unknown> => {
  const asked = of.requests.slice(0, 200).flatMap((request) =>
    routesAt(of, request.arrivesAt)
      .filter(({ modelId }) => modelId === request.modelId)
      .map((route) => ({ request, route })),
  );
  if (order === 'backwards') asked.reverse();
  return new Map(
    asked.map(({ request, route }) => [`${request.index} ${route.id}`, fateOf(of, route, request, request.arrivesAt)]),
  );
};

describe('a simulated day', () => {
  it('depends only on its seed', () => {
    const again = drawWorld(1, climate);
    expect(again.requests).toEqual(world.requests);
    expect(again.providers).toEqual(world.providers);
    expect(fates(again, 'forwards')).toEqual(fates(world, 'forwards'));
    const other = drawWorld(2, climate);
    expect(other.requests).not.toEqual(world.requests);
    expect(other.providers).not.toEqual(world.providers);
  });

  it('gives a request at a provider the same fate for every contender, in any order', () => {
    expect(fates(world, 'backwards')).toEqual(fates(world, 'forwards'));
  });

  it('has 50 providers over all tiers, and the requested number of routes per model and tier', () => {
    expect(world.providers).toHaveLength(50);
    for (const { id } of models) {
      const classes =
        world
          .catalogAt(0)
          .models.get(id)
          ?.routes.map(({ privacyClass }) => privacyClass) ?? [];
      const count = (tier: string): number => classes.filter((each) => each === tier).length;
      expect([count('anonymous'), count('private'), count('tee'), count('e2ee')]).toEqual([11, 7, 5, 1]);
    }
    const thin = drawWorld(1, { ...climate, teeRoutes: 1 });
    const tee = routesAt(thin, 0).filter(({ privacyClass }) => privacyClass === 'tee');
    expect(tee).toHaveLength(models.length);
  });

  it('lasts 24 hours, with traffic in each hour, to every model and broker', () => {
    const { requests } = world;
    expect(requests.length).toBeGreaterThan(0.9 * 0.05 * 24 * 3600);
    expect(requests.length).toBeLessThan(1.1 * 0.05 * 24 * 3600);
    expect(new Set(requests.map(({ arrivesAt }) => Math.floor(arrivesAt / hourMs))).size).toBe(24);
    expect(new Set(requests.map(({ modelId }) => modelId)).size).toBe(models.length);
    expect(new Set(requests.map(({ broker }) => broker)).size).toBe(brokers);
    expect(requests.map(({ arrivesAt }) => arrivesAt)).toEqual(
      requests.map((each) => each.arrivesAt).sort((a, b) => a - b),
    );
  });

  it('changes prices only at the set hours', () => {
    const pricesAt = (ms: number) => routesAt(world, ms).map(({ id, pricing }) => ({ id, pricing }));
    for (const hour of priceChangeHours) {
      expect(pricesAt(hour * hourMs)).not.toEqual(pricesAt(hour * hourMs - 1));
    }
    expect(pricesAt(8 * hourMs)).toEqual(pricesAt(4 * hourMs));
  });

  it('has every kind of trouble: outages, partial ones, rate limits, slow-downs, accounts, withdrawn models', () => {
    const seen = new Set<string>();
    for (const day of [1, 2, 3].map((seed) => drawWorld(seed, climate))) {
      for (const route of routesAt(day, 0)) {
        for (let ms = 0; ms < 24 * hourMs; ms += hourMs / 6) {
          for (const trouble of day.disturbancesOf(route, ms)) {
            if (trouble.kind === 'failing') seen.add(`${trouble.share === 1 ? 'all' : 'some'} ${trouble.how}`);
            else seen.add(trouble.kind);
          }
        }
      }
    }
    expect([...seen]).toEqual(
      expect.arrayContaining(['all server_error', 'some server_error', 'some rate_limited', 'slow', 'withdrawn']),
    );
    expect(seen.has('all quota_exhausted') || seen.has('all authentication_failed')).toBe(true);
  });

  it('has more faults if more are requested', () => {
    const troubled = (trouble: number): number => {
      const day = drawWorld(1, { ...climate, trouble });
      return routesAt(day, 0).flatMap((route) =>
        Array.from({ length: 24 }, (_, hour) => day.disturbancesOf(route, hour * hourMs)).flat(),
      ).length;
    };
    expect(troubled(4)).toBeGreaterThan(2 * troubled(1));
  });

  it('counts the cheapest listed route of a tier as the cheapest', () => {
    for (const request of world.requests.slice(0, 50)) {
      const tee = routesAt(world, request.arrivesAt).filter(
        ({ modelId, privacyClass }) => modelId === request.modelId && privacyClass === 'tee',
      );
      const costs = tee.map((route) => costOn(route, request)).sort((a, b) => a - b);
      expect(cheapestCost(world, request, 'tee')).toBe(costs[0]);
    }
  });
});
