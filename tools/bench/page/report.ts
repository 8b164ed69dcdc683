/** The results of one part of the benchmark, stored in `results.json` and shown in `docs/PERFORMANCE.md`. */
export interface Report {
  readonly title: string;
  /** How it was measured, in a few sentences. */
  readonly method: string;
  readonly tables: readonly Table[];
  /** The targets and the measured values. */
  readonly promises: readonly Promised[];
  readonly plots?: readonly Plot[];
}

/** Runs one part of the benchmark. Undefined if it cannot be measured here; it has printed the reason. */
export type Part = (options: { readonly quick: boolean }) => Promise<Report | undefined>;

export const noRedis = (): undefined => {
  console.log('Redis was not found. Install redis-server and run again.');
};

export interface Table {
  readonly caption: string;
  /** The first column names the row. */
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

export interface Promised {
  readonly what: string;
  readonly atMost: number;
  readonly measured: number;
  /** Such as `×`, `ms` or `MiB`. */
  readonly unit: string;
  /** Why the target is not lower, in a sentence. */
  readonly because?: string;
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
  /** Drawn in the product's color. */
  readonly ours: boolean;
}

export interface Line {
  readonly name: string;
  /** Minutes since the start, and the value at that time. */
  readonly points: readonly (readonly [minute: number, value: number])[];
}

/** Formats a number. A value that could not be measured is a dash. */
export const figure = (value: number, digits = 0): string => (Number.isFinite(value) ? value.toFixed(digits) : '–');
