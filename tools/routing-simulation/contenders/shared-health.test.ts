import { measurementMinimum, type Route, reliable } from '@sotto/router';
import { describe, expect, it } from 'vitest';
import { Timeline } from '../timeline.ts';
import type { FinishedAttempt } from './contender.ts';
import { SharedHealth } from './shared-health.ts';

const route = { id: 'lab/medium@acme', providerId: 'acme' } as Route;
const attempt: FinishedAttempt = {
  route,
  broker: 0,
  startedAt: 100,
  finishedAt: 1100,
  failure: undefined,
  complete: true,
  ttftMs: 400,
  tokensPerSecond: 50,
};
const failed: FinishedAttempt = { ...attempt, failure: 'server_error', complete: false, ttftMs: undefined };

describe('what brokers know of routes', () => {
  it('is of a penalty at once where it was given, and half a second later elsewhere', () => {
    const timeline = new Timeline();
    const health = new SharedHealth((at, happen) => timeline.at(at, happen));
    health.learn(failed);
    expect([0, 1].map((broker) => health.status(broker, 1100).penalized(route))).toEqual([true, false]);
    timeline.run();
    expect(timeline.now).toBeLessThanOrEqual(1100 + 120_000);
    expect([0, 1].map((broker) => health.status(broker, 1600).penalized(route))).toEqual([true, true]);
    expect([0, 1].map((broker) => health.status(broker, 31_101).penalized(route))).toEqual([false, false]);
  });

  it('is of what all of them counted, once they have shared it, and of the hours before', () => {
    const timeline = new Timeline();
    const health = new SharedHealth((at, happen) => timeline.at(at, happen));
    const learnAt = (at: number, what: FinishedAttempt): void =>
      timeline.at(at, () => health.learn({ ...what, startedAt: at - 1000, finishedAt: at }));
    for (let count = 0; count < measurementMinimum; count += 1) {
      learnAt(2000 + count, { ...attempt, broker: count % 2 });
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
