import fc from 'fast-check';
import { expect, it } from 'vitest';
import { quietTokens, roundedUp } from './quiet.ts';

it('holds and tokens are rounded up to one of few amounts, and never down', () => {
  fc.assert(
    fc.property(fc.bigInt(1n, 10n ** 15n), fc.nat(10 ** 9), (amountNusd, estimatedTokens) => {
      const rounded = roundedUp({ amountNusd, estimatedTokens });
      expect('neededNusd' in rounded && rounded.neededNusd).toBe(amountNusd);
      const nusd = 'roundedNusd' in rounded ? rounded.roundedNusd : 0n;
      expect(nusd).toBeGreaterThanOrEqual(amountNusd);
      expect(rounded.amountNusd).toBeLessThanOrEqual(amountNusd);
      // The state learns the class and nothing else: any other amount of it asks for the same.
      const { neededNusd: _, ...told } = { neededNusd: 0n, ...rounded };
      const { neededNusd: __, ...toldOfAnother } = {
        neededNusd: 0n,
        ...roundedUp({ amountNusd: nusd, estimatedTokens }),
      };
      expect(told).toEqual(toldOfAnother);
      expect([nusd % 50_000_000n, Math.log2(Number(nusd / 50_000_000n)) % 1]).toEqual([0n, 0]);
      expect(rounded.estimatedTokens).toBeGreaterThanOrEqual(estimatedTokens);
      expect(Math.log2(rounded.estimatedTokens) % 1).toBe(0);
    }),
  );
  expect(roundedUp({ amountNusd: 50_000_001n, estimatedTokens: 4_097 })).toMatchObject({
    ...{ roundedNusd: 100_000_000n, estimatedTokens: 8_192 },
  });
  expect(roundedUp({ amountNusd: 0n, estimatedTokens: 0, free: true })).toEqual({
    ...{ amountNusd: 0n, estimatedTokens: 4_096, free: true },
  });
  // A provider's odd count does not keep a request from being settled. The state bounds it.
  for (const odd of [Number.NaN, Number.POSITIVE_INFINITY, 2 ** 60])
    expect(Number.isSafeInteger(quietTokens(odd))).toBe(false);
});
