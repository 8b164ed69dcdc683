import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Ending, type FinishedAttempt, runDay, Timeline } from './run-day.ts';
import type { Disturbance } from './world/disturbances.ts';
import { drawWorld, type World } from './world/world.ts';

const drawn = drawWorld(1, { perSecond: 0.005, trouble: 1, teeRoutes: 5 });
const always = { fromMs: 0, toMs: Number.POSITIVE_INFINITY };
const failing = (how: 'silent' | 'server_error' | 'quota_exhausted'): Disturbance => ({
  kind: 'failing',
  how,
  share: 1,
  ...always,
});

/** The drawn day without trouble, except for the given faults of a plan's first, second and third provider. */
function serve(...troubles: readonly (Disturbance | undefined)[]): { endings: Ending[]; attempts: FinishedAttempt[] } {
  const endings: Ending[] = [];
  const attempts: FinishedAttempt[] = [];
  const routes = drawn.catalogAt(0).models.get('lab/medium')?.routes.slice(0, troubles.length) ?? [];
  const world: World = {
    ...drawn,
    providerOf: (route) => ({ ...drawn.providerOf(route), failureRate: 0, breakRate: 0 }),
    disturbancesOf(route, ms) {
      const trouble = troubles[routes.indexOf(route)];
      return trouble === undefined || ms < trouble.fromMs ? [] : [trouble];
    },
  };
  const enter = () => ({ plan: () => routes, learn: (attempt: FinishedAttempt) => void attempts.push(attempt) });
  runDay(world, { name: 'as told', enter }, (ending) => void endings.push(ending));
  return { endings, attempts };
}

describe('serving a day', () => {
  it('ends every request once', () => {
    const { endings } = serve(undefined);
    expect(endings.map(({ request }) => request.index).sort((a, b) => a - b)).toEqual(
      drawn.requests.map(({ index }) => index),
    );
    expect(endings.every(({ success, attempts }) => success && attempts === 1)).toBe(true);
  });

  it('fails over to the next route, and measures the first token from the arrival', () => {
    const { endings, attempts } = serve(failing('server_error'), undefined);
    expect(endings.every(({ success, attempts: tried }) => success && tried === 2)).toBe(true);
    let compared = 0;
    for (const { request, ttftMs } of endings) {
      const [first, second] = attempts.filter(({ startedAt }) => startedAt >= request.arrivesAt);
      if (first?.startedAt !== request.arrivesAt || second?.startedAt !== first.finishedAt) continue;
      expect(ttftMs).toBeCloseTo(first.finishedAt - first.startedAt + (second.ttftMs ?? 0), 6);
      compared += 1;
    }
    expect(compared).toBeGreaterThan(endings.length / 2);
  });

  it('waits 30 s for a silent provider with a fallback, and ten minutes in total for the last one', () => {
    const { endings, attempts } = serve(failing('silent'), failing('silent'));
    expect(endings.some(({ success }) => success)).toBe(false);
    const [first, last] = [30_000, 570_000].map((lasting) =>
      attempts.filter(({ startedAt, finishedAt }) => Math.abs(finishedAt - startedAt - lasting) < 0.001),
    );
    expect(first).toHaveLength(drawn.requests.length);
    expect(last).toHaveLength(drawn.requests.length);
    expect(attempts.every(({ failure }) => failure === 'timeout')).toBe(true);
  });

  it('fails if every route fails', () => {
    const { endings } = serve(failing('server_error'), failing('quota_exhausted'));
    expect(endings.every(({ success, route, attempts }) => !success && route === undefined && attempts === 2)).toBe(
      true,
    );
  });

  it('breaks an answer off if its provider goes down, and tries no other', () => {
    const arrivals = drawn.requests.map(({ arrivesAt }) => arrivesAt);
    const justAfter = (arrivals[0] ?? 0) + 1;
    const { endings } = serve({ ...failing('server_error'), fromMs: justAfter }, undefined);
    const first = endings.find(({ request }) => request.index === 0);
    expect(first).toMatchObject({ success: false, attempts: 1 });
    expect(first?.route).toBeDefined();
  });
});

it('runs events in order of time, and of scheduling at the same time', () => {
  fc.assert(
    fc.property(fc.array(fc.nat({ max: 20 })), (times) => {
      const timeline = new Timeline();
      const happened: { at: number; index: number }[] = [];
      for (const [index, at] of times.entries()) timeline.at(at, () => happened.push({ at: timeline.now, index }));
      timeline.run();
      const expected = times.map((at, index) => ({ at, index })).sort((a, b) => a.at - b.at);
      expect(happened).toEqual(expected);
    }),
  );
});

it('runs events that other events schedule', () => {
  const timeline = new Timeline();
  const seen: number[] = [];
  timeline.at(5, () => seen.push(timeline.now));
  timeline.at(1, () => timeline.at(3, () => seen.push(timeline.now)));
  timeline.run();
  expect(seen).toEqual([3, 5]);
});
