/** The month of the page, as its address keeps it. */
export interface MonthSearch {
  /** UTC, such as `2026-11`. */
  readonly month?: string | undefined;
}

/** Reads an address; ignores what is malformed. */
export const readMonthSearch = ({ month }: Readonly<Record<string, unknown>>): MonthSearch => ({
  month: typeof month === 'string' && /^\d{4}-(?:0[1-9]|1[0-2])$/.test(month) ? month : undefined,
});
