const locale = (): string => navigator.language;

const inCents = new Intl.NumberFormat(locale(), { style: 'currency', currency: 'USD' });
const small = new Intl.NumberFormat(locale(), {
  style: 'currency',
  currency: 'USD',
  minimumFractionDigits: 2,
  maximumSignificantDigits: 3,
});

/** An amount in USD, in the reader's locale; below ten cents with three significant digits, so that a request's cost shows. */
export const formatUsd = (usd: number): string =>
  usd !== 0 && Math.abs(usd) < 0.1 ? small.format(usd) : inCents.format(usd);

const price = new Intl.NumberFormat(locale(), {
  style: 'currency',
  currency: 'USD',
  minimumFractionDigits: 2,
  maximumFractionDigits: 6,
});

/** A price in USD per unit, exact. */
export const formatPrice = (usd: number): string => price.format(usd);
