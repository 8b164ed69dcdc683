import { type Nusd, nanoPerCent } from './amounts.ts';

/** What a top-up costs beside its amount. */
export interface FeeTerms {
  /** Percent of the amount, in thousandths: 5500 is 5.5 %. */
  readonly milliPercent: bigint;
  readonly fixedNusd: Nusd;
  readonly minimumNusd: Nusd;
}

/** The fee of a top-up: a percentage plus a fixed part, at least the minimum, rounded up to a whole cent. */
export function topUpFee(amountNusd: Nusd, { milliPercent, fixedNusd, minimumNusd }: FeeTerms): Nusd {
  // In 100,000ths of a nano-dollar, so that nothing is rounded before the end.
  const exact = amountNusd * milliPercent + fixedNusd * 100_000n;
  const centUnits = nanoPerCent * 100_000n;
  const rounded = ((exact + centUnits - 1n) / centUnits) * nanoPerCent;
  return rounded > minimumNusd ? rounded : minimumNusd;
}
