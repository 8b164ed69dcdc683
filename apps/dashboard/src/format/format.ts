const locale = navigator.language;

// The narrow symbol is `$` in every locale.
const inUsd = {
  style: 'currency',
  currency: 'USD',
  currencyDisplay: 'narrowSymbol',
  minimumFractionDigits: 2,
} as const;
const inCents = new Intl.NumberFormat(locale, inUsd);
const small = new Intl.NumberFormat(locale, { ...inUsd, maximumSignificantDigits: 3 });

const smallest = 0.0001;

/**
 * An amount in USD, in the reader's locale: cents from ten cents on, three significant digits below, and `<$0.0001` for
 * less than that.
 */
export function formatUsd(usd: number): string {
  if (usd > 0 && usd < smallest) return `<${small.format(smallest)}`;
  return usd !== 0 && Math.abs(usd) < 0.1 ? small.format(usd) : inCents.format(usd);
}

const inParts = new Intl.NumberFormat(locale, { ...inUsd, minimumFractionDigits: 4, maximumFractionDigits: 4 });

/** How the amounts of a column are written: all of them to the cent, or all to a hundredth of a cent. */
export type UsdDigits = 'cents' | 'parts';

/** Cents, unless an amount below ten cents has less than a cent. */
export const usdDigitsOf = (amounts: readonly (number | null)[]): UsdDigits =>
  amounts.every((usd) => usd === null || usd >= 0.1 || Number.isInteger(Number((usd * 100).toFixed(7))))
    ? 'cents'
    : 'parts';

/** An amount in USD in a column, where all have as many digits. */
export function formatUsdIn(digits: UsdDigits, usd: number): string {
  if (digits === 'cents') return inCents.format(usd);
  return usd > 0 && usd < smallest ? `<${inParts.format(smallest)}` : inParts.format(usd);
}

/** Writes the amounts of a column, all with as many digits. */
export function formatUsdColumn(amounts: readonly (number | null)[]): (usd: number) => string {
  const digits = usdDigitsOf(amounts);
  return (usd) => formatUsdIn(digits, usd);
}

/** A balance, which is rounded down, because its account cannot spend more. */
export const formatBalance = (usd: number): string =>
  formatUsd(usd < 0.1 ? usd : Math.floor(Number((usd * 100).toFixed(6))) / 100);

const exact = new Intl.NumberFormat(locale, { ...inUsd, maximumFractionDigits: 9 });

/** An amount in USD to the last nano-dollar. */
export const formatExactUsd = (usd: number): string => exact.format(usd);

/** Writes amounts of a column exactly, each with as many digits as the one that needs the most. */
export function exactUsdOf(amounts: readonly number[]): (usd: number) => string {
  const digitsOf = (usd: number): number => usd.toFixed(9).replace(/0+$/, '').split('.')[1]?.length ?? 0;
  const digits = Math.max(2, ...amounts.map(digitsOf));
  const column = new Intl.NumberFormat(locale, {
    ...inUsd,
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  });
  return (usd) => column.format(usd);
}

const price = new Intl.NumberFormat(locale, { ...inUsd, maximumFractionDigits: 6 });

/** A price in USD per unit, exact. */
export const formatPrice = (usd: number): string => price.format(usd);

const whole = new Intl.NumberFormat(locale, { maximumFractionDigits: 0 });
const compact = new Intl.NumberFormat(locale, { notation: 'compact', maximumSignificantDigits: 3 });
const short = new Intl.NumberFormat(locale, { maximumSignificantDigits: 3 });
const percent = new Intl.NumberFormat(locale, { style: 'percent', maximumFractionDigits: 1 });

/** A count with all its digits. */
export const formatCount = (count: number): string => whole.format(count);

/** A count of things, such as "1 route" or "3 routes". */
export const formatCountOf = (count: number, thing: string): string =>
  `${formatCount(count)} ${thing}${count === 1 ? '' : 's'}`;

/** A count, cut short: `128K`. */
export const formatCompact = (count: number): string => compact.format(count);

/** A share from 0 to 1. */
export const formatShare = (share: number): string => percent.format(share);

/** A duration to three digits: in ms below one second, in seconds from there on. */
export const formatMs = (ms: number): string => (ms < 1000 ? `${short.format(ms)} ms` : `${short.format(ms / 1000)} s`);

const instant = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short' });
const utcMinute = new Intl.DateTimeFormat(locale, {
  ...{ month: 'short', day: 'numeric', hour: 'numeric', minute: '2-digit' },
  timeZone: 'UTC',
});
const utcHour = new Intl.DateTimeFormat(locale, { hour: 'numeric', minute: '2-digit', timeZone: 'UTC' });
const utcInstant = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' });
const localDay = new Intl.DateTimeFormat(locale, { dateStyle: 'medium' });
const day = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeZone: 'UTC' });
const shortDay = new Intl.DateTimeFormat(locale, { month: 'short', day: 'numeric', timeZone: 'UTC' });
const month = new Intl.DateTimeFormat(locale, { month: 'short', year: 'numeric', timeZone: 'UTC' });
const hour = new Intl.DateTimeFormat(locale, { hour: 'numeric', minute: '2-digit' });
const relative = new Intl.RelativeTimeFormat(locale, { numeric: 'auto' });

/** An instant, in ISO 8601 or Unix ms, in the reader's locale and time zone. */
export const formatInstant = (at: string | number): string => instant.format(new Date(at));

/** A minute of usage in UTC, as its days are, without the year. */
export const formatUtcMinute = (iso: string): string => utcMinute.format(new Date(iso));

/** The same with the year. */
export const formatUtcInstant = (iso: string): string => utcInstant.format(new Date(iso));

/** The day just before an instant, where the reader is: the last one of a period that ends then. */
export const formatLastDay = (endsAt: string): string => localDay.format(Date.parse(endsAt) - 1);

/** A UTC month such as `2026-11`. */
export const formatMonth = (isoMonth: string): string => month.format(new Date(`${isoMonth}-01T00:00:00Z`));

/** The time of day of an instant, for axes. */
export const formatHour = (iso: string): string => hour.format(new Date(iso));

/** The same in UTC. */
export const formatUtcHour = (iso: string): string => utcHour.format(new Date(iso));

/** A UTC day such as `2026-11-21`. */
export const formatDay = (isoDay: string): string => day.format(new Date(`${isoDay}T00:00:00Z`));

/** The same without the year, for axes. */
export const formatShortDay = (isoDay: string): string => shortDay.format(new Date(`${isoDay}T00:00:00Z`));

const units = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
] as const;

/** How long ago, or until, in words such as "3 hours ago"; below a minute "now". */
export function formatRelative(iso: string, now: number): string {
  const differenceMs = new Date(iso).getTime() - now;
  for (const [unit, ms] of units) {
    if (Math.abs(differenceMs) >= ms) return relative.format(Math.round(differenceMs / ms), unit);
  }
  return relative.format(0, 'minute');
}

/**
 * Reads an amount in USD, down to a billionth. Returns null for an empty text, and undefined for a text that is not an
 * amount or exceeds `mostUsd`.
 */
export function readUsd(typed: string): number | null | undefined {
  const text = typed.trim().replace(/^\$\s*/, '');
  if (text === '') return null;
  const usd = /^(?:\d{1,9}(?:\.\d{1,9})?|\.\d{1,9})$/.test(text) ? Number(text) : undefined;
  return usd !== undefined && usd <= mostUsd ? usd : undefined;
}

/** An amount as `readUsd` reads it, without an exponent or digits of rounding. An empty text without an amount. */
export const typedUsd = (usd: number | null | undefined): string =>
  usd == null ? '' : usd.toFixed(9).replace(/\.?0+$/, '');

/** The highest limit or price that the service accepts. */
const mostUsd = 1_000_000;

/** Shown at a field whose text is not an amount. */
export const usdMistake = 'An amount in $, such as 5 or 12.50. At most 1,000,000.';
