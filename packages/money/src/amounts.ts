/** An amount of money: integer nano-USD. The ledger, Redis and every message between processes use this unit. */
export type Nusd = bigint;

/** A price of one unit (a token, an image, a character): integer pico-USD, which is micro-USD per million units. */
export type PicoUsd = number;

/** Amounts stay below 2^53 nano-USD (about 9 million USD), so that Redis and JSON hold them exactly. */
export const maxNusd: Nusd = 2n ** 53n - 1n;

/**
 * Converts a decimal USD amount of a file or a request to nano-USD.
 * Returns undefined for a value that is negative, not finite, finer than a nano-dollar or beyond `maxNusd`.
 */
export function usdToNusd(usd: number): Nusd | undefined {
  const scaled = exactScaled(usd, 1e9);
  return scaled === undefined ? undefined : BigInt(scaled);
}

/** What card rails count in. */
export const nanoPerCent: Nusd = 10_000_000n;

/** An amount as JSON shows it: USD as a number. For display only; nothing computes with the result. */
export const nusdToUsd = (amount: Nusd): number => Number(amount) / 1e9;

/** An amount as exact text: USD with as many of its nine decimals as it needs, never with an exponent. */
export function nusdToDecimal(amount: Nusd): string {
  const digits = (amount < 0n ? -amount : amount).toString().padStart(10, '0');
  const decimals = digits.slice(-9).replace(/0+$/, '');
  return `${amount < 0n ? '-' : ''}${digits.slice(0, -9)}${decimals === '' ? '' : `.${decimals}`}`;
}

/**
 * Converts a price in USD per million units to pico-USD per unit.
 * Returns undefined where it is negative, not finite or finer than a millionth of a dollar per million units.
 */
export const usdPerMillionToPico = (usd: number): PicoUsd | undefined => exactScaled(usd, 1e6);

/** Converts a price in USD per single unit (an image) to pico-USD; undefined as for `usdPerMillionToPico`. */
export const usdPerUnitToPico = (usd: number): PicoUsd | undefined => exactScaled(usd, 1e12);

/** Rounds an exact sum of pico-USD up to whole nano-USD: the one place where a cost is rounded. */
export const picoToNusdRoundedUp = (pico: bigint): Nusd => (pico + 999n) / 1000n;

function exactScaled(value: number, scale: number): number | undefined {
  if (!Number.isFinite(value) || value < 0) return undefined;
  const scaled = Math.round(value * scale);
  if (!Number.isSafeInteger(scaled)) return undefined;
  // The decimal that was written must be what the integer says; a finer one would be charged wrongly in silence.
  return Math.abs(value - scaled / scale) <= value * 4 * Number.EPSILON ? scaled : undefined;
}
