export const hourMs = 3_600_000;
export const dayMs = 24 * hourMs;

/** UTC days such as `2026-11-21`, both inclusive. */
export interface Days {
  readonly from: string;
  readonly to: string;
}

/** The UTC minute of an instant in Unix ms. */
export const minuteAt = (unixMs: number): string => `${new Date(unixMs).toISOString().slice(0, 16)}Z`;

/** The UTC day of an instant in Unix ms. */
export const dayAt = (unixMs: number): string => new Date(unixMs).toISOString().slice(0, 10);

/** The day so many days later. */
export const addDays = (day: string, count: number): string => dayAt(Date.parse(day) + count * dayMs);

/** The first day of the month so many months later. */
export function monthFrom(day: string, count: number): string {
  const [year = 0, month = 1] = day.split('-').map(Number);
  return dayAt(Date.UTC(year, month - 1 + count, 1));
}

/** How many days a range has; none if it ends before it starts. */
export const countDays = ({ from, to }: Days): number =>
  Math.max(0, Math.round((Date.parse(to) - Date.parse(from)) / dayMs) + 1);
