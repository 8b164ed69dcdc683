const locale = (): string => navigator.language;

const instant = new Intl.DateTimeFormat(locale(), { dateStyle: 'medium', timeStyle: 'short' });
const day = new Intl.DateTimeFormat(locale(), { dateStyle: 'medium', timeZone: 'UTC' });
const shortDay = new Intl.DateTimeFormat(locale(), { month: 'short', day: 'numeric', timeZone: 'UTC' });
const month = new Intl.DateTimeFormat(locale(), { month: 'short', year: 'numeric', timeZone: 'UTC' });
const hour = new Intl.DateTimeFormat(locale(), { hour: 'numeric', minute: '2-digit' });
const relative = new Intl.RelativeTimeFormat(locale(), { numeric: 'auto' });

/** An ISO 8601 instant in the reader's locale and time zone. */
export const formatInstant = (iso: string): string => instant.format(new Date(iso));

/** A UTC month such as `2026-11`. */
export const formatMonth = (isoMonth: string): string => month.format(new Date(`${isoMonth}-01T00:00:00Z`));

/** The time of day of an instant, for axes. */
export const formatHour = (iso: string): string => hour.format(new Date(iso));

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
