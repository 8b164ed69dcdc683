import type { Detect } from '../detector.ts';
import type { FindingKind } from '../finding.ts';
import type { MadeText } from './made-set.ts';

/** How much of one kind was found, and how much of what was found is of it. */
export interface Measured {
  readonly kind: FindingKind;
  readonly present: number;
  readonly found: number;
  readonly wrong: number;
  /** Values that were missed, and findings that are none. */
  readonly missed: readonly string[];
  readonly extra: readonly string[];
}

/**
 * Compares findings with the values of a made set. A value counts as found if findings cover all of it, of whatever kind. A
 * finding counts as wrong if it covers more than half of its length outside of all values.
 */
export async function measure(detect: Detect, set: readonly MadeText[]): Promise<readonly Measured[]> {
  const rows = new Map<
    FindingKind,
    { present: number; found: number; wrong: number; missed: Set<string>; extra: Set<string> }
  >();
  const rowOf = (kind: FindingKind) => {
    const row = rows.get(kind) ?? { present: 0, found: 0, wrong: 0, missed: new Set(), extra: new Set() };
    rows.set(kind, row);
    return row;
  };
  for (const { text, values } of set) {
    const findings = await detect(text);
    const covered = covering(
      text,
      findings.map(({ value }) => value),
    );
    for (const { kind, value } of values) {
      const row = rowOf(kind);
      row.present += 1;
      const start = text.indexOf(value);
      if (covered.slice(start, start + value.length).every(Boolean)) row.found += 1;
      else row.missed.add(value);
    }
    const meant = covering(
      text,
      values.map(({ value }) => value),
    );
    for (const { kind, value } of new Map(findings.map((finding) => [finding.value, finding])).values()) {
      const start = text.indexOf(value);
      const outside = meant.slice(start, start + value.length).filter((is) => !is).length;
      if (outside * 2 <= value.length) continue;
      rowOf(kind).wrong += 1;
      rowOf(kind).extra.add(value);
    }
  }
  return [...rows].map(([kind, { missed, extra, ...counts }]) => ({
    kind,
    ...counts,
    missed: [...missed],
    extra: [...extra],
  }));
}

/** For each character, whether one of the values has it. */
function covering(text: string, values: readonly string[]): boolean[] {
  const covered = Array.from({ length: text.length }, () => false);
  for (const value of values) {
    for (let at = text.indexOf(value); at !== -1; at = text.indexOf(value, at + 1))
      covered.fill(true, at, at + value.length);
  }
  return covered;
}
