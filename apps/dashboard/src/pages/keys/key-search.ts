/** What is asked of the list of keys, as its address says it. */
export interface KeySearch {
  /** A part of the name. */
  readonly q?: string | undefined;
  /** Revoked ones, too. */
  readonly revoked?: true | undefined;
}

export const readKeySearch = ({ q, revoked }: Readonly<Record<string, unknown>>): KeySearch => ({
  q: (typeof q === 'string' && q !== '') || typeof q === 'number' ? String(q).slice(0, 100) : undefined,
  revoked: revoked === true ? true : undefined,
});
