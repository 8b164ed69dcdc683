/** The month of the page, as its address keeps it. */
export interface SpendSearch {
  /** UTC, such as `2026-11`. Default: this one. */
  readonly month?: string | undefined;
}

/** Reads an address; ignores what is malformed. */
export const readSpendSearch = ({ month }: Readonly<Record<string, unknown>>): SpendSearch => ({
  month: typeof month === 'string' && /^\d{4}-(?:0[1-9]|1[0-2])$/.test(month) ? month : undefined,
});
