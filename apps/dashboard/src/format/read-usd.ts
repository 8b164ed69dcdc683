/**
 * An amount as somebody typed it, in USD, down to a billionth; null for nothing, undefined for what is no amount or is more
 * than `mostUsd`.
 */
export function readUsd(typed: string): number | null | undefined {
  const text = typed.trim().replace(/^\$\s*/, '');
  if (text === '') return null;
  const usd = /^(?:\d{1,9}(?:\.\d{1,9})?|\.\d{1,9})$/.test(text) ? Number(text) : undefined;
  return usd !== undefined && usd <= mostUsd ? usd : undefined;
}

/** What the service takes at most, as a limit or a price. */
const mostUsd = 1_000_000;

/** What is said of an amount that is none. */
export const usdMistake = 'An amount in USD, such as 5 or 12.50. At most 1,000,000.';
