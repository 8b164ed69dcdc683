import { comparePrivacy } from '@sotto/wire';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Catalog, Route } from '../catalog/catalog.ts';
import {
  aCatalog,
  accepted,
  allHealthy,
  anyCatalog,
  anyNeeds,
  anyPreferences,
  anyStatus,
  measuring,
  oneModel,
  penalizing,
  planned,
  providersFor,
  type RouteSketch,
  refused,
  type Surroundings,
  theModel,
} from '../testing/fixtures.ts';
import type { RouteStatus } from './order-routes.ts';
import { planRequest } from './plan-request.ts';

// `decisions.test.ts` tests what `docs/reference/routing-by-example.md` shows. These tests are for the rest.

const tee: RouteSketch = { provider: 'encl', privacy: 'tee', input: 2, output: 2 };
const priv: RouteSketch = { provider: 'priv', privacy: 'private', input: 2, output: 2 };
const anon: RouteSketch = { provider: 'anon', privacy: 'anonymous', input: 2, output: 2 };
const at = (sketch: RouteSketch, usd: number): RouteSketch => ({ ...sketch, input: usd, output: usd });
/** Fallbacks may step down to any tier, so that the whole order is visible. */
const all = { fallback_floor: 'anonymous' } as const;
const order = (catalog: Catalog, around: Surroundings = {}) =>
  providersFor(catalog, {}, { ...around, preferences: { ...all, ...around.preferences } });
const failing = { requests: 100, successes: 79 };
const trusted = { requests: 100, successes: 100 };

describe('Default rule 2: tee over private', () => {
  it('is not given up for a provider that keeps failing too', () => {
    const status = measuring({ encl: failing, priv: failing });
    expect(order(oneModel(tee, priv), { status })).toEqual(['encl', 'priv']);
    expect(order(oneModel(at(tee, 9), priv), { status: measuring({ priv: failing }) })).toEqual(['encl', 'priv']);
  });

  it('is judged against the private provider that would serve instead', () => {
    const slowButCheap = { ...at(priv, 1), provider: 'slow' };
    const catalog = oneModel(at(tee, 1.4), slowButCheap, at(priv, 5));
    expect(order(catalog)).toEqual(['encl', 'slow', 'priv']);
    expect(order(oneModel(at(tee, 1.6), slowButCheap, at(priv, 5)))).toEqual(['slow', 'priv', 'encl']);
    const measured = { slow: { requests: 100, successes: 70 } };
    expect(order(oneModel(at(tee, 1.6), slowButCheap, at(priv, 5)), { status: measuring(measured) })).toEqual([
      ...['encl', 'slow', 'priv'],
    ]);
  });

  it('an enclave that is worth its price goes before one that is not, whatever their scores', () => {
    const other = { ...tee, provider: 'more' };
    const status = measuring({ encl: { ttftMs: 100 }, more: { ttftMs: 300 }, priv: { ttftMs: 100 } });
    expect(order(oneModel(at(tee, 2.9), at(other, 0.5), priv), { status })).toEqual(['encl', 'priv', 'more']);
  });

  it('e2ee counts as tee: it takes encrypted requests alone, and no price makes them plaintext', () => {
    const sealed: RouteSketch = { ...tee, provider: 'seal', privacy: 'e2ee', input: 90, output: 90 };
    expect(order(oneModel(sealed, priv, anon), { needs: { encrypted: true } })).toEqual(['seal']);
    expect(order(oneModel(sealed, priv))).toEqual(['priv']);
  });
});

describe('Default rule 2: anonymous', () => {
  it('goes last unless every more private provider costs more than 3 times as much', () => {
    expect(order(oneModel(at(anon, 1), at(priv, 3), at(tee, 4)))).toEqual(['encl', 'priv', 'anon']);
    expect(order(oneModel(at(anon, 1), at(priv, 3.01), at(tee, 4)))).toEqual(['anon', 'encl', 'priv']);
    expect(order(oneModel(at(anon, 1), at(priv, 9), at(tee, 3)))).toEqual(['encl', 'priv', 'anon']);
  });

  it('or is more than 3 times as slow, or keeps failing: each for a reason of its own', () => {
    const catalog = oneModel(at(anon, 1), at(priv, 3.5), at(tee, 2), { ...at(priv, 1), provider: 'sick' });
    const measured = { anon: { ttftMs: 100 }, priv: { ttftMs: 90 }, encl: { ttftMs: 301 }, sick: failing };
    expect(order(catalog, { status: measuring(measured) })[0]).toBe('anon');
    expect(order(catalog, { status: measuring({ ...measured, encl: { ttftMs: 300 } }) })[0]).not.toBe('anon');
    expect(order(catalog, { status: measuring({ ...measured, sick: trusted }) })[0]).not.toBe('anon');
  });

  it('never while it keeps failing itself', () => {
    const status = measuring({ anon: failing });
    expect(order(oneModel(at(anon, 0.1), priv), { status })).toEqual(['priv', 'anon']);
  });
});

describe('Default rule 3: within a tier by cost, speed and success', () => {
  const other = { ...priv, provider: 'more' };

  it('counts measured speed a little, and success much', () => {
    const faster = { priv: { ttftMs: 5000 }, more: { ttftMs: 200 } };
    expect(order(oneModel(priv, at(other, 2.6)), { status: measuring(faster) })).toEqual(['more', 'priv']);
    expect(order(oneModel(priv, at(other, 2.8)), { status: measuring(faster) })).toEqual(['priv', 'more']);
    const steadier = { priv: { requests: 100, successes: 90 }, more: trusted };
    expect(order(oneModel(priv, at(other, 2.7)), { status: measuring(steadier) })).toEqual(['more', 'priv']);
  });

  it('counts a provider with fewer than 20 recent requests as average', () => {
    const measured = { priv: { ttftMs: 100 }, slow: { ttftMs: 9900 }, fresh: { requests: 19, ttftMs: 1 } };
    const sketches = ['slow', 'fresh'].map((provider) => ({ ...priv, provider }));
    expect(order(oneModel(priv, ...sketches), { status: measuring(measured) })).toEqual(['priv', 'fresh', 'slow']);
  });

  it('compares free providers by speed and success', () => {
    const status = measuring({ priv: { ttftMs: 9000 }, more: { ttftMs: 100 } });
    expect(order(oneModel(at(priv, 0), at(other, 0)), { status })).toEqual(['more', 'priv']);
  });

  it('breaks ties by price, latency and the fixed provider order', () => {
    expect(order(oneModel({ ...priv, rank: 9 }, { ...other, rank: 2 }))).toEqual(['more', 'priv']);
  });
});

describe('Default rule 4: within 10 % of the best', () => {
  const names = ['b', 'c', 'd', 'e'];
  const catalog = oneModel(...[2, 2.1, 2.2, 2.21].map((usd, i) => ({ ...at(priv, usd), provider: names[i] ?? '' })));
  const shares = (around: Surroundings = {}) => planned(catalog, {}, around).shares.map(({ providerId }) => providerId);

  it('share traffic, the others do not', () => {
    expect(shares()).toEqual(['b', 'c', 'd']);
    expect(planned(oneModel(priv, at({ ...priv, provider: 'dear' }, 3))).shares).toEqual([]);
  });

  it('the others stay in the order of their scores behind the one that is drawn', () => {
    const drawing = (draw: number) => providersFor(catalog, {}, { random: () => draw });
    expect(drawing(0)).toEqual(['b', 'c', 'd', 'e']);
    expect(drawing(0.5)).toEqual(['c', 'b', 'd', 'e']);
    expect(drawing(0.999)).toEqual(['d', 'b', 'c', 'e']);
  });

  it('a recently failed one does not', () => {
    expect(shares({ status: penalizing('b') })).toEqual(['c', 'd', 'e']);
    expect(providersFor(catalog, {}, { status: penalizing('b') })).toEqual(['c', 'd', 'e', 'b']);
  });

  it('never across a tier', () => {
    expect(planned(oneModel(tee, priv, anon), {}, { preferences: all }).shares).toEqual([]);
  });

  it('only under Default', () => {
    for (const provider_sort of ['privacy', 'price', 'latency', 'throughput'] as const) {
      expect(shares({ preferences: { provider_sort } })).toEqual([]);
    }
  });
});

describe('Default and context windows', () => {
  const small = { contextLength: 100 };
  const long = { needs: { promptTokens: 500 } };

  it('fails rather than move below the tier from which the plan would start', () => {
    expect(refused(oneModel({ ...tee, ...small }, priv), {}, long)).toBe('context_too_large');
    expect(refused(oneModel({ ...tee, ...small }, priv), {}, { ...long, preferences: all })).toBe('context_too_large');
  });

  it('a tier that would not have gone first may be too small', () => {
    expect(order(oneModel({ ...at(tee, 9), ...small }, priv), long)).toEqual(['priv']);
  });

  it('stays at the tier even where what is left of it is not worth its price', () => {
    const catalog = oneModel({ ...tee, ...small }, { ...at(tee, 9), provider: 'dear' }, priv);
    expect(order(catalog)).toEqual(['encl', 'priv', 'dear']);
    expect(order(catalog, long)).toEqual(['dear']);
  });
});

describe('Default and penalties', () => {
  const catalog = oneModel(tee, priv, at(anon, 1), { ...tee, provider: 'dear', input: 9 });

  it('a recently failed provider goes behind the healthy ones of its tier and stronger ones, ahead of weaker tiers', () => {
    expect(order(catalog, { status: penalizing('encl') })).toEqual(['encl', 'priv', 'dear', 'anon']);
    expect(order(catalog, { status: penalizing('priv') })).toEqual(['encl', 'dear', 'priv', 'anon']);
    const two = oneModel(tee, { ...tee, provider: 'twin', input: 2.5 }, priv);
    expect(order(two, { status: penalizing('encl') })).toEqual(['twin', 'encl', 'priv']);
  });

  it('an anonymous one that would go first waits for every more private one', () => {
    const cheap = oneModel(at(anon, 0.1), priv, tee);
    expect(order(cheap)).toEqual(['anon', 'encl', 'priv']);
    expect(order(cheap, { status: penalizing('anon') })).toEqual(['encl', 'priv', 'anon']);
  });

  it('all of them at once change nothing', () => {
    const everyone = penalizing('encl', 'priv', 'anon', 'dear');
    expect(order(catalog, { status: everyone })).toEqual(order(catalog));
  });
});

describe('every plan under Default', () => {
  /** Half of the catalogs have equal prices, so that many routes share traffic. */
  const catalogs = fc.tuple(anyCatalog, fc.boolean()).map(([catalog, isEven]) => {
    if (!isEven) return catalog;
    const even = (route: Route): Route => ({ ...route, price: { input: 1_000_000, output: 1_000_000 } });
    return aCatalog(...[...catalog.models.values()].map((model) => ({ ...model, routes: model.routes.map(even) })));
  });
  const situation = fc.record({ catalog: catalogs, preferences: anyPreferences, needs: anyNeeds, status: anyStatus });
  const always = (
    check: (of: {
      plan: (status?: RouteStatus, draw?: number) => ReturnType<typeof planned>;
      status: RouteStatus;
      sharing: boolean;
    }) => void,
  ): void => {
    fc.assert(
      fc.property(situation, ({ catalog, preferences, needs, status }) => {
        const plan = (at = status, draw = 0) =>
          planRequest({ model: theModel }, needs, {
            catalog,
            preferences: { ...preferences, provider_sort: 'default' },
            status: at,
            random: () => draw,
          });
        const decision = plan();
        fc.pre(decision.ok);
        check({
          plan: (at, draw) => accepted(plan(at, draw)),
          status,
          sharing: accepted(decision).shares.length > 0,
        });
      }),
      { numRuns: 400 },
    );
  };
  const ids = ({ routes }: ReturnType<typeof planned>) => routes.map(({ id }) => id);

  it('is the same for the same draw, and holds the same routes for any', () => {
    let shared = 0;
    always(({ plan, status, sharing }) => {
      for (const draw of [0, 0.3, 0.6, 0.999]) {
        expect(ids(plan(status, draw))).toEqual(ids(plan(status, draw)));
        expect(ids(plan(status, draw)).sort()).toEqual(ids(plan()).sort());
        expect(plan(status, draw).shares).toEqual(plan().shares);
      }
      if (sharing) shared += 1;
    });
    expect(shared).toBeGreaterThan(10);
  });

  it('a penalty changes none of its routes, and puts no weaker tier first', () => {
    always(({ plan, status }) => {
      const usual = plan({ ...allHealthy, measurements: status.measurements });
      const now = plan();
      expect(ids(now).sort()).toEqual(ids(usual).sort());
      const [first, before] = [now, usual].map(({ routes }) => routes[0]?.privacyClass ?? 'anonymous');
      expect(comparePrivacy(first ?? 'anonymous', before ?? 'e2ee')).toBeGreaterThanOrEqual(0);
    });
  });
});
