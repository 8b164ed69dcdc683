import { describe, expect, test } from 'vitest';
import { climates, runSeed } from './run.ts';

/**
 * An executable model of the rules about money (docs/concepts/holds-and-charges.md). `node --conditions=@sotto/source
 * test/money/simulation/explore.ts` runs as many seeds as you like. A change to the simulation may change what a seed
 * below does. That is acceptable, because many other seeds run as well.
 */
const seeds = 40;
const steps = 4000;

/** Seeds that failed in the past, and why. */
const failedOnce: readonly (readonly [climate: string, seed: number, why: string])[] = [
  ['calm', 4, 'a note was swept before the balance that has its charge was told'],
  ['calm', 11, 'the same'],
  ['a bad network', 1, 'a redeem that had been refused arrived again, and nobody ended its hold'],
  ['a bad network', 5, 'the same'],
  ['lapsing leases', 9, 'the same'],
  ['everything at once', 6, 'a charge was noted as declared, and its broker died before it had handed it over again'],
  ['a stale replica', 63, 'steps under way made up for the number of those that were lost'],
  ['a stale replica', 148, 'nobody was waited for after an epoch that took long to open was lost as well'],
  ['a stale replica', 166, 'the same'],
  ['a stale replica', 173, 'a replica came up before it was noted who was there'],
];

describe.each(Object.keys(climates))('money, with %s', (climate) => {
  test(`is right after every one of ${steps} steps, with each of ${seeds} seeds`, async () => {
    const seen = new Map<string, number>();
    for (let seed = 1; seed <= seeds; seed += 1) {
      for (const [what, times] of await runSeed(climate, seed, steps)) seen.set(what, (seen.get(what) ?? 0) + times);
    }
    for (const what of [
      'opened',
      'redeem admitted',
      'redeem insufficient',
      'redeem invalid_ticket',
      'redeem not asked',
      'redeem over budget',
      'withdrawal reserved',
    ]) {
      expect(seen.get(what) ?? 0, what).toBeGreaterThan(0);
    }
    for (const [fault, what] of [
      ['failOver', 'failed over'],
      ['wipe', 'wiped'],
      ['crash', 'broker crashed'],
      ['leap', 'leapt'],
    ] as const) {
      if ((climates[climate]?.[fault] ?? 0) > 0) expect(seen.get(what) ?? 0, what).toBeGreaterThan(0);
    }
  });
});

test.each(failedOnce)('%s, seed %i: %s', async (climate, seed) => {
  await runSeed(climate, seed, 3000);
});

test('the rules catch a broker that does not declare what it holds', async () => {
  const silent = async (): Promise<void> => {
    for (let seed = 1; seed <= 40; seed += 1) {
      await runSeed('a Redis that loses everything', seed, steps, { declares: false });
    }
  };
  await expect(silent()).rejects.toThrow(/is available/);
});

test('the rules catch a withdrawal that reserves nothing', async () => {
  const careless = async (): Promise<void> => {
    for (let seed = 1; seed <= 40; seed += 1) await runSeed('calm', seed, steps, { reserves: false });
  };
  await expect(careless()).rejects.toThrow(/is available|charges beyond/);
});
