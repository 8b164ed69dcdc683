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

/** One cent in nano-USD. Card rails count in cents. */
export const nanoPerCent: Nusd = 10_000_000n;

/** An amount in USD as a number, for JSON. For display only, never for computation. */
export const nusdToUsd = (amount: Nusd): number => Number(amount) / 1e9;

/** An amount in USD as exact text, with up to nine decimals and no exponent. */
export function nusdToDecimal(amount: Nusd): string {
  const digits = (amount < 0n ? -amount : amount).toString().padStart(10, '0');
  const decimals = digits.slice(-9).replace(/0+$/, '');
  return `${amount < 0n ? '-' : ''}${digits.slice(0, -9)}${decimals === '' ? '' : `.${decimals}`}`;
}

/**
 * Converts a price in USD per million units to pico-USD per unit.
 * Returns undefined if it is negative, not finite or finer than a millionth of a dollar per million units.
 */
export const usdPerMillionToPico = (usd: number): PicoUsd | undefined => exactScaled(usd, 1e6);

/** Converts a price in USD per single unit (an image) to pico-USD. Returns undefined as `usdPerMillionToPico` does. */
export const usdPerUnitToPico = (usd: number): PicoUsd | undefined => exactScaled(usd, 1e12);

/** The largest of these amounts, or 0. */
export function largestAmount(amounts: readonly Nusd[]): Nusd {
  let most = 0n;
  for (const amount of amounts) if (amount > most) most = amount;
  return most;
}

/** Rounds an exact sum of pico-USD up to whole nano-USD. Costs are rounded here and nowhere else. */
export const picoToNusdRoundedUp = (pico: bigint): Nusd => (pico + 999n) / 1000n;

function exactScaled(value: number, scale: number): number | undefined {
  if (!Number.isFinite(value) || value < 0) return undefined;
  const scaled = Math.round(value * scale);
  if (!Number.isSafeInteger(scaled)) return undefined;
  // The integer must equal the decimal as written. A finer decimal would be charged wrongly without an error.
  return Math.abs(value - scaled / scale) <= value * 4 * Number.EPSILON ? scaled : undefined;
}

/**
 * Multiplies a decimal number, given as text, by a power of ten. The result is exact, without an exponent or extra zeros. Lists
 * of models write the price of one token as text (`"0.00000015"`, `"1.5e-7"`), and this converts it to the price of a million.
 * Returns undefined for a negative number, for text that is not a number, and for text longer than any price.
 */
export function shiftDecimal(text: string, places: number): string | undefined {
  const parts = /^\+?(\d{0,60})(?:\.(\d{0,60}))?(?:[eE]([+-]?\d{1,3}))?$/.exec(text.trim());
  if (parts === null) return undefined;
  const [, whole = '', fraction = '', exponent = '0'] = parts;
  if (whole === '' && fraction === '') return undefined;
  const digits = whole + fraction;
  const point = whole.length + Number(exponent) + places;
  if (Math.abs(point) > 200) return undefined;
  const padded = digits.padStart(digits.length - Math.min(point, 0), '0').padEnd(Math.max(point, 0), '0');
  const at = Math.max(point, 0);
  const left = padded.slice(0, at).replace(/^0+(?=\d)/, '');
  const right = padded.slice(at).replace(/0+$/, '');
  return `${left === '' ? '0' : left}${right === '' ? '' : `.${right}`}`;
}
