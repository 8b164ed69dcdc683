/** Reads a text of an address, where one that reads like a number is parsed as one. Undefined if there is none. */
export const textOf = (asked: unknown, most = 256): string | undefined =>
  (typeof asked === 'string' && asked !== '') || typeof asked === 'number' ? String(asked).slice(0, most) : undefined;

/** Reads a UTC day such as `2026-11-21`; undefined if it is malformed. */
export const dayOf = (asked: unknown): string | undefined =>
  typeof asked === 'string' && /^\d{4}-\d\d-\d\d$/.test(asked) && !Number.isNaN(Date.parse(asked)) ? asked : undefined;

/** Reads the words that guides or operations are searched for. */
export function readDocsSearch({ q }: Readonly<Record<string, unknown>>): { q?: string } {
  const words = textOf(q);
  return words === undefined ? {} : { q: words };
}
