import { describe, expect, it } from 'vitest';
import { aRoute, decide, oneModel, providersFor } from '../testing/fixtures.ts';
import type { AttemptOutcome } from './failover.ts';
import { isPenalized, type Penalty, penaltyKey, strike } from './penalty.ts';

const start = 1_000_000_000;
const second = 1000;
const minute = 60 * second;
const fail = (current: Penalty | undefined, now: number, startedAt = now): Penalty =>
  strike(current, { kind: 'server_error', startedAt, now });
const lengthOf = (penalty: Penalty): number => penalty.expiresAt - penalty.lastStrikeAt;

describe('strike', () => {
  it('demotes for 30 s at the first failure', () => {
    expect(fail(undefined, start)).toEqual({
      kind: 'server_error',
      strikes: 1,
      lastStrikeAt: start,
      expiresAt: start + 30 * second,
    });
  });

  it('doubles with every further failure to 60, 120 and 240 s, and stays at 5 minutes', () => {
    const lengths: number[] = [];
    let penalty: Penalty | undefined;
    for (let strikes = 1; strikes <= 15; strikes += 1) {
      penalty = fail(penalty, start + strikes * minute);
      lengths.push(lengthOf(penalty) / second);
      expect(penalty.strikes).toBe(strikes);
    }
    expect(lengths).toEqual([30, 60, 120, 240, ...Array(11).fill(300)]);
  });

  it('counts on from a penalty that has run out, within 10 minutes of the last failure', () => {
    const first = fail(undefined, start);
    const later = fail(first, start + 10 * minute - 1);
    expect(first.expiresAt).toBeLessThan(later.lastStrikeAt);
    expect(later).toMatchObject({ strikes: 2, expiresAt: start + 11 * minute - 1 });
  });

  it('10 minutes without a failure reset the count', () => {
    const third = fail(fail(fail(undefined, start), start + minute), start + 2 * minute);
    expect(third.strikes).toBe(3);
    const afterwards = fail(third, start + 12 * minute);
    expect(afterwards.strikes).toBe(1);
    expect(lengthOf(afterwards)).toBe(30 * second);
  });

  it('a failure of an attempt that began before the last strike is not a further strike', () => {
    const first = fail(undefined, start);
    expect(fail(first, start + 20 * second, start - 1)).toBe(first);
  });

  it('counts an attempt that began at the last strike or after it', () => {
    const first = fail(undefined, start);
    expect(fail(first, start + second, start).strikes).toBe(2);
    expect(fail(first, start + second, start + 1).strikes).toBe(2);
  });

  it('does not count on from a strike that only a clock set back since can have given', () => {
    const first = fail(fail(undefined, start), start + minute);
    expect(fail(first, start - 60 * minute)).toMatchObject({ strikes: 1, lastStrikeAt: start - 60 * minute });
    expect(fail(first, start + minute - second)).toBe(first);
  });

  it('remembers the kind of the last strike', () => {
    const first = fail(undefined, start);
    const next = strike(first, { kind: 'rate_limited', startedAt: start + 1, now: start + 2 });
    expect(next.kind).toBe('rate_limited');
    expect(strike(next, { kind: 'timeout', startedAt: start, now: start + 3 }).kind).toBe('rate_limited');
  });
});

describe('penaltyKey', () => {
  const route = aRoute({ provider: 'acme/eu' }, 'lab/one');

  it.each<[outcome: AttemptOutcome, concerns: string, key: string | undefined]>([
    ['timeout', 'that route', 'route:lab/one@acme/eu'],
    ['quota_exhausted', 'every route of that provider', 'provider:acme/eu'],
    ['content_refused', 'nothing', undefined],
  ])('%s concerns %s', (outcome, _, key) => {
    expect(penaltyKey(outcome, route)).toBe(key);
  });

  it('tells unlisted providers apart, though users see both as `other`', () => {
    const keys = ['hidden', 'shadow'].map((provider) =>
      penaltyKey('authentication_failed', aRoute({ provider, unlisted: true })),
    );
    expect(new Set(keys).size).toBe(2);
  });
});

describe('isPenalized', () => {
  const penalties = (outcome: AttemptOutcome, provider: string, model = 'lab/one') => {
    const key = penaltyKey(outcome, aRoute({ provider }, model));
    if (key === undefined) throw new Error('not punished');
    return new Map([[key, strike(undefined, { kind: outcome, startedAt: start, now: start })]]);
  };
  const penalized = (known: ReadonlyMap<string, Penalty>, provider: string, model = 'lab/one', now = start) =>
    isPenalized(known, aRoute({ provider }, model), now);

  it('lasts until it runs out', () => {
    const known = penalties('timeout', 'acme');
    expect(penalized(known, 'acme', 'lab/one', start + 30 * second - 1)).toBe(true);
    expect(penalized(known, 'acme', 'lab/one', start + 30 * second)).toBe(false);
    expect(penalized(new Map(), 'acme')).toBe(false);
  });

  it('is over where the clock was set back behind it, but not where clocks are a little apart', () => {
    const known = penalties('timeout', 'acme');
    expect(penalized(known, 'acme', 'lab/one', start - minute)).toBe(true);
    expect(penalized(known, 'acme', 'lab/one', start - 60 * minute)).toBe(false);
  });

  it('a penalty of a route leaves the provider’s other routes alone', () => {
    const known = penalties('server_error', 'acme');
    expect(penalized(known, 'acme', 'lab/one')).toBe(true);
    expect(penalized(known, 'acme', 'lab/two')).toBe(false);
    expect(penalized(known, 'acme/eu', 'lab/one')).toBe(false);
    expect(penalized(known, 'bolt', 'lab/one')).toBe(false);
  });

  it.each<AttemptOutcome>(['authentication_failed', 'quota_exhausted'])(
    '%s demotes every route of that provider, variants and all models, and of no other',
    (outcome) => {
      const known = penalties(outcome, 'acme');
      expect(penalized(known, 'acme', 'lab/one')).toBe(true);
      expect(penalized(known, 'acme', 'lab/two')).toBe(true);
      expect(penalized(known, 'acme/eu', 'lab/two')).toBe(true);
      expect(penalized(known, 'acmeco', 'lab/one')).toBe(false);
      expect(penalized(penalties(outcome, 'acme/eu'), 'acme/eu', 'lab/two')).toBe(true);
    },
  );

  it('moves a route behind the healthy ones of its model for as long as it lasts', () => {
    const known = penalties('timeout', 'acme');
    const catalog = oneModel({ provider: 'acme' }, { provider: 'bolt' });
    const orderAt = (now: number) =>
      providersFor(
        catalog,
        {},
        { status: { measurements: new Map(), penalized: (route) => isPenalized(known, route, now) } },
      );
    expect(orderAt(start + 29 * second)).toEqual(['bolt', 'acme']);
    expect(orderAt(start + 30 * second)).toEqual(['acme', 'bolt']);
  });

  it('a model with a single route keeps working while it is penalized', () => {
    const known = penalties('timeout', 'acme');
    const status = {
      measurements: new Map(),
      penalized: (route: Parameters<typeof isPenalized>[1]) => isPenalized(known, route, start),
    };
    expect(decide(oneModel({ provider: 'acme' }), {}, { status }).ok).toBe(true);
  });
});
