const locale = (): string => navigator.language;

const whole = new Intl.NumberFormat(locale(), { maximumFractionDigits: 0 });
const compact = new Intl.NumberFormat(locale(), { notation: 'compact', maximumFractionDigits: 1 });
const percent = new Intl.NumberFormat(locale(), { style: 'percent', maximumFractionDigits: 1 });

/** A count, in full. */
export const formatCount = (count: number): string => whole.format(count);

/** A count, cut short: `128K`. */
export const formatCompact = (count: number): string => compact.format(count);

/** A share from 0 to 1. */
export const formatShare = (share: number): string => percent.format(share);

/** Milliseconds, as seconds from one second on. */
export const formatMs = (ms: number): string =>
  ms < 1000 ? `${whole.format(ms)} ms` : `${compact.format(ms / 1000)} s`;
