import { dayOf, textOf } from '../format/read-search.ts';

/** Filters of an audit log, as its address keeps them. */
export interface ActSearch {
  readonly kind?: string | undefined;
  /** The account that acted. */
  readonly by?: string | undefined;
  /** UTC days, both inclusive. */
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  /** A part of an address, or an account id. For operators. */
  readonly q?: string | undefined;
  /** The kind of actor. For operators. */
  readonly actor?: Actor | undefined;
}

export const actors = ['account', 'operator', 'command_line', 'identity_provider', 'app'] as const;
export type Actor = (typeof actors)[number];

/** Reads an address; ignores what is malformed. */
export const readActSearch = (search: Readonly<Record<string, unknown>>): ActSearch => ({
  kind: textOf(search.kind),
  by: textOf(search.by),
  from: dayOf(search.from),
  to: dayOf(search.to),
  q: textOf(search.q, 254),
  actor: actors.find((actor) => actor === search.actor),
});
