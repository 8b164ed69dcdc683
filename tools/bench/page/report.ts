/** What one part of the bench found, as it is kept in `results/` and told in `docs/PERFORMANCE.md`. */
export interface Report {
  readonly title: string;
  /** How it was measured, in a few sentences. */
  readonly method: string;
  readonly tables: readonly Table[];
  /** What was promised, and what came of it. */
  readonly promises: readonly Promised[];
  readonly plots?: readonly Plot[];
}

export interface Table {
  readonly caption: string;
  /** Its first column names the row. */
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

export interface Promised {
  readonly what: string;
  readonly atMost: number;
  readonly measured: number;
  /** `×`, `ms`, `MiB` and the like. */
  readonly unit: string;
}

/** One picture: bars, or lines over time. */
export type Plot =
  | { readonly kind: 'bars'; readonly name: string; readonly title: string; readonly bars: readonly Bar[] }
  | {
      readonly kind: 'lines';
      readonly name: string;
      readonly title: string;
      readonly unit: string;
      readonly lines: readonly Line[];
    };

export interface Bar {
  readonly name: string;
  readonly value: number;
  /** Drawn in the colour of the product. */
  readonly ours: boolean;
}

export interface Line {
  readonly name: string;
  /** Minutes since the start, and the value then. */
  readonly points: readonly (readonly [minute: number, value: number])[];
}

/** A number as text; what could not be measured is a dash. */
export const figure = (value: number, digits = 0): string => (Number.isFinite(value) ? value.toFixed(digits) : '–');
