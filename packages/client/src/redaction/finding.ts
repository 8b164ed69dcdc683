/** What a value is. It is the first part of its placeholder, so that the model can tell the values apart. */
export type FindingKind =
  | 'NAME'
  | 'EMAIL'
  | 'PHONE'
  | 'ADDRESS'
  | 'IP'
  | 'CARD'
  | 'IBAN'
  | 'NUMBER'
  | 'SECRET'
  | 'WORD';

/** A value in a text that is not to be sent. */
export interface Finding {
  readonly kind: FindingKind;
  readonly value: string;
}

/** Returns the first group of each match, or the whole match if there is none. */
export function* matched(text: string, pattern: RegExp): Generator<string> {
  for (const [whole, group] of text.matchAll(pattern)) yield group ?? whole;
}
