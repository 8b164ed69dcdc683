import { measurementMinimum, type Route, reliable } from '@sotto/router';
import { describe, expect, it } from 'vitest';
import { type FinishedAttempt, Timeline } from '../run-day.ts';
import { drawWorld } from '../world/world.ts';
import { openRouter } from './open-router.ts';
import { SharedHealth } from './sotto.ts';

/** The example in its documentation: A costs $1, B $2 and C $3 per million tokens. */
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

  it('tries the other stable providers next, and those with an outage in the last 30 seconds last', () => {
    const first = contender(() => 0);
    first.learn({ ...attempt, route: b, failure: 'server_error', complete: false });
    const order = (now: number): string[] => first.plan(request, now).map(({ id }) => id);
    expect(order(1001)).toEqual(['a', 'c', 'b']);
    expect(order(31_000)).toEqual(['a', 'c', 'b']);
    expect(order(31_001)).toEqual(['a', 'b', 'c']);
    first.learn({ ...attempt, route: a, failure: undefined, complete: true });
    expect(order(31_001)).toEqual(['a', 'b', 'c']);
  });

  it('still tries every provider if none is stable', () => {
    const all = contender(() => 0);
    for (const route of [a, b, c]) all.learn({ ...attempt, route, failure: 'timeout', complete: false });
    expect(all.plan(request, 1001).map(({ id }) => id)).toEqual(['a', 'b', 'c']);
  });
});

const route = { id: 'lab/medium@acme', providerId: 'acme' } as Route;
const finished: FinishedAttempt = {
  route,
  broker: 0,
  startedAt: 100,
  finishedAt: 1100,
  failure: undefined,
  complete: true,
  ttftMs: 400,
  tokensPerSecond: 50,
};
const failed: FinishedAttempt = { ...finished, failure: 'server_error', complete: false, ttftMs: undefined };

describe("a broker's knowledge of routes", () => {
  it('includes its own penalties at once, and those of other brokers half a second later', () => {
    const timeline = new Timeline();
    const health = new SharedHealth((at, happen) => timeline.at(at, happen));
    health.learn(failed);
    expect([0, 1].map((broker) => health.status(broker, 1100).penalized(route))).toEqual([true, false]);
    timeline.run();
    expect(timeline.now).toBeLessThanOrEqual(1100 + 120_000);
    expect([0, 1].map((broker) => health.status(broker, 1600).penalized(route))).toEqual([true, true]);
    expect([0, 1].map((broker) => health.status(broker, 31_101).penalized(route))).toEqual([false, false]);
  });

  it('includes the shared counts of all brokers and of earlier hours', () => {
    const timeline = new Timeline();
    const health = new SharedHealth((at, happen) => timeline.at(at, happen));
    const learnAt = (at: number, what: FinishedAttempt): void =>
      timeline.at(at, () => health.learn({ ...what, startedAt: at - 1000, finishedAt: at }));
    for (let count = 0; count < measurementMinimum; count += 1) {
      learnAt(2000 + count, { ...finished, broker: count % 2 });
      learnAt(3_700_000 + count, { ...failed, broker: count % 2 });
    }
    let early: unknown = 'not looked at';
    timeline.at(3000, () => {
      early = reliable(health.status(0, 3000).measurements, route.id);
    });
    timeline.run();
    expect(early).toBeUndefined();
    expect(reliable(health.status(0, timeline.now).measurements, route.id)).toMatchObject({
      requests: 2 * measurementMinimum,
      successes: measurementMinimum,
    });
  });
});
