import type { Route } from '@sotto/router';
import { describe, expect, it } from 'vitest';
import { drawWorld } from '../world/world.ts';
import { openRouter } from './open-router.ts';

/** The example of its documentation: A costs $1, B $2 and C $3 per million tokens. */
const drawn = drawWorld(1, { perSecond: 0.001, trouble: 0, teeRoutes: 5 });
const catalog = drawn.catalogAt(0);
const request = {
  index: 0,
  arrivesAt: 0,
  modelId: 'lab/medium',
  promptTokens: 1,
  cachedTokens: 0,
  completionTokens: 1,
  broker: 0,
};
const [a, b, c] = ['a', 'b', 'c'].map((id, at) => ({
  id,
  privacyClass: 'anonymous',
  price: { input: (at + 1) * 1e6, output: (at + 1) * 1e6 },
})) as unknown as [Route, Route, Route];
const model = {
  ...catalog.models.get('lab/medium'),
  routes: [a, b, c, { ...a, id: 'encrypted', privacyClass: 'e2ee' }],
};

function contender(random: () => number) {
  const models = new Map([['lab/medium', model]]) as unknown as typeof catalog.models;
  return openRouter('', 3).enter({ catalogAt: () => ({ ...catalog, models }), later: () => {}, random });
}
const attempt = { broker: 0, startedAt: 0, finishedAt: 1000, ttftMs: undefined, tokensPerSecond: undefined } as const;

describe("OpenRouter's documented default", () => {
  it('draws the first provider by the inverse square of its price', () => {
    const draws = 3000;
    let at = 0;
    const evenly = contender(() => (at++ + 0.5) / draws);
    const firsts = Array.from({ length: draws }, () => evenly.plan(request, 0)[0]?.id);
    const count = (id: string): number => firsts.filter((first) => first === id).length;
    expect(count('a') / count('c')).toBeCloseTo(9, 0);
    expect(count('a') / count('b')).toBeCloseTo(4, 1);
    expect(firsts).not.toContain('encrypted');
  });

  it('tries the other stable ones next, and those with an outage in the last 30 seconds last', () => {
    const first = contender(() => 0);
    first.learn({ ...attempt, route: b, failure: 'server_error', complete: false });
    const order = (now: number): string[] => first.plan(request, now).map(({ id }) => id);
    expect(order(1001)).toEqual(['a', 'c', 'b']);
    expect(order(31_000)).toEqual(['a', 'c', 'b']);
    expect(order(31_001)).toEqual(['a', 'b', 'c']);
    first.learn({ ...attempt, route: a, failure: undefined, complete: true });
    expect(order(31_001)).toEqual(['a', 'b', 'c']);
  });

  it('still tries everybody where nobody is stable', () => {
    const all = contender(() => 0);
    for (const route of [a, b, c]) all.learn({ ...attempt, route, failure: 'timeout', complete: false });
    expect(all.plan(request, 1001).map(({ id }) => id)).toEqual(['a', 'b', 'c']);
  });
});
