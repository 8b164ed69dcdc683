import { describe, expect, it } from 'vitest';
import { KeyRing, type ProviderKey } from './key-ring.ts';

const key = (variable: string, weight = 1): ProviderKey => ({
  variable,
  weight,
  headers: ['authorization', `Bearer ${variable}`],
});
const [one, two, three] = [key('ONE', 3), key('TWO'), key('THREE')];

function ringOf(...keys: ProviderKey[]) {
  const clock = { now: 1_000_000, random: 0 };
  const aside: string[] = [];
  const ring = new KeyRing(keys, {
    now: () => clock.now,
    random: () => clock.random,
    onSetAside: ({ variable }, outcome) => aside.push(`${variable} ${outcome}`),
  });
  const takeAt = (random: number): string | undefined => {
    clock.random = random;
    return ring.take().variable;
  };
  return { ring, clock, aside, takeAt };
}

describe('the keys of a provider', () => {
  it('are drawn by weight, whatever call came before', () => {
    const { takeAt } = ringOf(one, two);
    expect([0, 0.5, 0.74, 0.75, 0.999].map(takeAt)).toEqual(['ONE', 'ONE', 'ONE', 'TWO', 'TWO']);
  });

  it.each([
    [401, 'authentication_failed'],
    [402, 'quota_exhausted'],
    [429, 'rate_limited'],
  ])('are set aside for a while by a %i, and the call goes on with another', (status, outcome) => {
    const { ring, clock, aside, takeAt } = ringOf(one, two, three);
    clock.random = 0;
    expect(ring.afterAnswer(status, [one], clock.now)?.variable).toBe('TWO');
    expect(aside).toEqual([`ONE ${outcome}`]);
    expect([0, 0.6].map(takeAt)).toEqual(['TWO', 'THREE']);
    clock.now += 30_001;
    expect(takeAt(0)).toBe('ONE');
    ring.afterAnswer(status, [one], clock.now);
    clock.now += 30_001;
    // A second refusal keeps it aside for twice as long, as it does a route.
    expect(takeAt(0)).toBe('TWO');
  });

  it.each([200, 400, 403, 404, 500, 503])('stay in use after a %i', (status) => {
    const { ring, aside, takeAt } = ringOf(one, two);
    expect(ring.afterAnswer(status, [one], 0)).toBeUndefined();
    expect([takeAt(0), aside]).toEqual(['ONE', []]);
  });

  it('are each tried once by a call, and never none is left for the next call', () => {
    const { ring, clock, takeAt } = ringOf(one, two);
    expect(ring.afterAnswer(429, [one], clock.now)).toBe(two);
    clock.now += 1;
    expect(ring.afterAnswer(429, [one, two], clock.now)).toBeUndefined();
    expect(takeAt(0.99)).toBe('ONE');
  });

  it('are not set aside if there is only one', () => {
    const { ring, aside, takeAt } = ringOf(one);
    expect(ring.afterAnswer(401, [one], 0)).toBeUndefined();
    expect([takeAt(0.5), aside]).toEqual(['ONE', []]);
  });

  it('are replaced for later calls, and one that stays keeps its time aside', () => {
    const { ring, clock, takeAt } = ringOf(one, two);
    ring.afterAnswer(401, [one], clock.now);
    ring.replace([{ ...one, weight: 1000 }, three]);
    expect(takeAt(0)).toBe('THREE');
    ring.replace([key('OTHER')]);
    expect(takeAt(0)).toBe('OTHER');
  });
});
