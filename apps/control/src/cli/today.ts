/** The date in UTC, such as 2026-01-31. */
export const today = (): string => new Date().toISOString().slice(0, 10);
