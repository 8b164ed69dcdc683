import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Route } from '../catalog/catalog.ts';
import type { RouteMeasurement } from '../health/measurement.ts';
import type { Sort } from '../policy/merge-policy.ts';
import {
  allHealthy,
  aModel,
  anyCatalog,
  anyStatus,
  measuring,
  penalizing,
  type RouteSketch,
  theModel,
} from '../testing/fixtures.ts';
import { arrange, comparisonOf, type RouteStatus, withPenalties } from './order-routes.ts';
import { scoredRoutesOf } from './scored-route.ts';

const sorts: Sort[] = ['default', 'privacy', 'price', 'latency', 'throughput'];
const routesOf = (...sketches: RouteSketch[]): readonly Route[] => aModel(theModel, sketches).routes;
const orderOf = (routes: readonly Route[], sort: Sort, status: RouteStatus, order: string[] = []): Route[] => {
  const policy = { sort, order };
  const scoredRoutes = scoredRoutesOf({ ...aModel(theModel, []), routes }, status.measurements);
  const healthy = arrange(scoredRoutes, policy).sort(comparisonOf(policy));
  return withPenalties(healthy, policy, status.penalized).map(({ scored }) => scored.route);
};
const ordered = (sort: Sort, sketches: RouteSketch[], status: RouteStatus = allHealthy, order: string[] = []) =>
  orderOf(routesOf(...sketches), sort, status, order).map((route) => route.providerId);

describe('sort by privacy', () => {
  it('strongest tier, then health, then price', () => {
    const sketches: RouteSketch[] = [
      { provider: 'anon', privacy: 'anonymous', input: 1 },
      { provider: 'dear', privacy: 'tee', input: 3 },
      { provider: 'sick', privacy: 'tee', input: 1 },
      { provider: 'cheap', privacy: 'tee', input: 2 },
      { provider: 'mid', privacy: 'private', input: 1 },
    ];
    const order = ['cheap', 'dear', 'sick', 'mid', 'anon'];
    expect(ordered('privacy', sketches, penalizing('sick'))).toEqual(order);
    expect(ordered('privacy', sketches)).toEqual(['sick', 'cheap', 'dear', 'mid', 'anon']);
  });

  it('a penalized route goes ahead of any weaker tier', () => {
    const sketches: RouteSketch[] = [
      { provider: 'weak', privacy: 'private' },
      { provider: 'sick', privacy: 'tee' },
    ];
    expect(ordered('privacy', sketches, penalizing('sick'))).toEqual(['sick', 'weak']);
  });

  it('breaks ties of price by latency, then by the fixed provider order', () => {
    const sketches: RouteSketch[] = [
      { provider: 'third', rank: 7 },
      { provider: 'second', rank: 3 },
      { provider: 'fast', rank: 9 },
    ];
    expect(ordered('privacy', sketches, measuring({ fast: { ttftMs: 50 } }))).toEqual(['fast', 'second', 'third']);
    expect(ordered('privacy', sketches)).toEqual(['second', 'third', 'fast']);
  });
});

describe('sort by price', () => {
  it('cheapest first, whatever the tier', () => {
    const sketches: RouteSketch[] = [
      { provider: 'dear', privacy: 'tee', input: 3 },
      { provider: 'cheap', privacy: 'private', input: 1 },
    ];
    expect(ordered('price', sketches)).toEqual(['cheap', 'dear']);
  });

  it('weighs input against output as chat traffic does: three to one', () => {
    const sketches: RouteSketch[] = [
      { provider: 'prompt', input: 2, output: 1 },
      { provider: 'answer', input: 1, output: 3 },
    ];
    expect(ordered('price', sketches)).toEqual(['answer', 'prompt']);
    expect(ordered('price', [...sketches.slice(0, 1), { provider: 'answer', input: 1, output: 5 }])).toEqual([
      'prompt',
      'answer',
    ]);
  });

  it('compares images and speech by their own prices', () => {
    const media = (name: 'image' | 'inputCharacter'): RouteSketch[] => [
      { provider: 'dear', input: 0, output: 0, price: { [name]: 2 } },
      { provider: 'cheap', input: 0, output: 0, price: { [name]: 1 } },
    ];
    expect(ordered('price', media('image'))).toEqual(['cheap', 'dear']);
    expect(ordered('price', media('inputCharacter'))).toEqual(['cheap', 'dear']);
  });
});

describe.each([
  ['latency', (merit: number) => ({ ttftMs: merit })],
  ['throughput', (merit: number) => ({ tokensPerSecond: 1000 - merit })],
] as const)('sort by %s', (sort, merit) => {
  const measured = (of: Record<string, [merit: number, more?: Partial<RouteMeasurement>]>) =>
    measuring(
      Object.fromEntries(Object.entries(of).map(([name, [value, more]]) => [name, { ...merit(value), ...more }])),
    );

  it('best measurement first, whatever the price', () => {
    const sketches: RouteSketch[] = [
      { provider: 'slow', input: 1 },
      { provider: 'fast', input: 3 },
    ];
    expect(ordered(sort, sketches, measured({ slow: [500], fast: [100] }))).toEqual(['fast', 'slow']);
  });

  it('with fewer than 20 requests a route goes by health, then price, behind the measured ones', () => {
    const sketches: RouteSketch[] = [
      { provider: 'dear', input: 3 },
      { provider: 'cheap', input: 1 },
      { provider: 'known', input: 5 },
      { provider: 'sick', input: 0 },
    ];
    const status = measured({
      dear: [1, { requests: 19 }],
      cheap: [900, { requests: 19 }],
      known: [800, { requests: 20 }],
    });
    const penalized = (route: Route): boolean => route.providerId === 'sick';
    expect(ordered(sort, sketches, { ...status, penalized })).toEqual(['known', 'cheap', 'dear', 'sick']);
  });

  it('goes by price where the requests were many but nothing was measured', () => {
    const status = measuring({ dear: { requests: 100 }, cheap: { requests: 100 } });
    expect(
      ordered(
        sort,
        [
          { provider: 'dear', input: 3 },
          { provider: 'cheap', input: 1 },
        ],
        status,
      ),
    ).toEqual(['cheap', 'dear']);
  });

  it('takes what whole answers tell of a route whose streams were not measured', () => {
    const { ttftMs, tokensPerSecond } = { ttftMs: undefined, tokensPerSecond: undefined, ...merit(200) };
    const status = measured({ slow: [500], fast: [100] });
    const whole = measuring({ whole: { requests: 20, atLeast: { ttftMs, tokensPerSecond } } });
    const sketches = ['slow', 'whole', 'fast', 'unknown'].map((provider) => ({ provider }));
    const measurements = new Map([...status.measurements, ...whole.measurements]);
    expect(ordered(sort, sketches, { ...status, measurements })).toEqual(['fast', 'whole', 'slow', 'unknown']);
  });

  it('breaks ties by price', () => {
    const sketches: RouteSketch[] = [
      { provider: 'dear', input: 3 },
      { provider: 'cheap', input: 1 },
    ];
    expect(ordered(sort, sketches, measured({ dear: [100], cheap: [100] }))).toEqual(['cheap', 'dear']);
  });
});

describe('penalties', () => {
  it.each(sorts)('under %s a recently failed route goes behind healthy ones of its tier', (sort) => {
    const best = { input: 1 };
    const status = { ...measuring({ sick: { ttftMs: 1, tokensPerSecond: 999 } }), ...{ penalized: isSick } };
    const sketches: RouteSketch[] = [
      { provider: 'sick', ...best },
      { provider: 'well', input: 3 },
    ];
    expect(ordered(sort, sketches, status)).toEqual(['well', 'sick']);
    expect(ordered(sort, sketches, { ...status, penalized: () => false })).toEqual(['sick', 'well']);
  });

  it.each(sorts)('under %s routes that are all penalized go in normal order', (sort) => {
    const sketches: RouteSketch[] = [
      { provider: 'c', input: 3 },
      { provider: 'a', input: 1 },
      { provider: 'b', input: 2 },
    ];
    expect(ordered(sort, sketches, penalizing('a', 'b', 'c'))).toEqual(['a', 'b', 'c']);
    expect(ordered(sort, sketches)).toEqual(['a', 'b', 'c']);
  });
});
const isSick = (route: Route): boolean => route.providerId === 'sick';

describe('an explicit order', () => {
  const sketches: RouteSketch[] = [
    { provider: 'acme', input: 1 },
    { provider: 'acme/eu', input: 2 },
    { provider: 'acmeco', input: 1 },
    { provider: 'bolt', input: 5 },
    { provider: 'hidden', unlisted: true, input: 4 },
    { provider: 'shadow', unlisted: true, input: 3 },
  ];

  it('is tried first, as written; the rest follows by sort', () => {
    expect(ordered('price', sketches, allHealthy, ['bolt', 'acmeco'])).toEqual([
      ...['bolt', 'acmeco'],
      ...['acme', 'acme/eu', 'shadow', 'hidden'],
    ]);
  });

  it('an entry places a provider’s variants too, among themselves by sort', () => {
    expect(ordered('price', sketches, allHealthy, ['acme']).slice(0, 2)).toEqual(['acme', 'acme/eu']);
    expect(ordered('price', sketches, penalizing('acme'), ['acme']).slice(0, 2)).toEqual(['acme/eu', 'acme']);
  });

  it('a variant named before its provider goes first', () => {
    expect(ordered('price', sketches, allHealthy, ['acme/eu', 'acme']).slice(0, 2)).toEqual(['acme/eu', 'acme']);
  });

  it('`other` places every unlisted provider', () => {
    expect(ordered('price', sketches, allHealthy, ['other', 'bolt']).slice(0, 3)).toEqual(['shadow', 'hidden', 'bolt']);
    expect(ordered('price', sketches, allHealthy, ['hidden']).slice(0, 2)).toEqual(['acme', 'acmeco']);
  });

  it('is honoured as written, whichever providers are penalized', () => {
    const sick = penalizing('bolt', 'acme');
    expect(ordered('price', sketches, sick, ['bolt', 'acmeco'])).toEqual([
      ...['bolt', 'acmeco'],
      ...['acme/eu', 'shadow', 'hidden', 'acme'],
    ]);
  });

  it('passes over entries that serve nothing here', () => {
    expect(ordered('price', sketches, allHealthy, ['nobody', 'bolt'])[0]).toBe('bolt');
  });
});

describe('every order', () => {
  it('is total and does not depend on where routes stand in the catalog', () => {
    const anyOrder = fc.shuffledSubarray(['acme', 'acme/eu', 'bolt', 'other'], { maxLength: 2 });
    const model = anyCatalog.map((catalog) => catalog.models.get(theModel)?.routes ?? []);
    const shuffled = model.chain((routes) =>
      fc.tuple(fc.constant(routes), fc.shuffledSubarray([...routes], { minLength: routes.length })),
    );
    fc.assert(
      fc.property(shuffled, anyStatus, fc.constantFrom(...sorts), anyOrder, ([routes, others], status, sort, order) => {
        const ids = (list: readonly Route[]): string[] => orderOf(list, sort, status, order).map((route) => route.id);
        expect(ids(others)).toEqual(ids(routes));
        const policy = { sort, order };
        const compare = comparisonOf(policy);
        const arranged = arrange(scoredRoutesOf({ ...aModel(theModel, []), routes }, status.measurements), policy);
        for (const a of arranged) {
          for (const b of arranged) expect(Math.sign(compare(a, b))).toBe(-Math.sign(compare(b, a)) + 0);
          expect(arranged.filter((b) => compare(a, b) === 0)).toEqual([a]);
        }
      }),
      { numRuns: 200 },
    );
  });
});
