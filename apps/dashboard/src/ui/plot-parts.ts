import type { ReactNode } from 'react';

export interface PlotSeries {
  readonly id: string;
  readonly name: string;
  /** The sum of all others, drawn in grey. */
  readonly isRest?: boolean;
}

export interface PlotPoint {
  /** An instant or a day, as `formatX` takes it. */
  readonly x: string;
  /** In the order of the series; null where nothing was measured. */
  readonly values: readonly (number | null)[];
}

export interface PlotProps {
  readonly title: string;
  /** Hides the title from view, where a heading states it already. */
  readonly hideTitle?: boolean;
  /** The unit of the numbers, such as "USD per day". */
  readonly unit: string;
  /** Bars that add up, or lines that are compared. */
  readonly kind: 'stack' | 'lines';
  readonly series: readonly PlotSeries[];
  readonly points: readonly PlotPoint[];
  readonly formatX: (x: string) => string;
  /** Shorter, for the axis. */
  readonly formatTick: (x: string) => string;
  /** The points that the axis may name; default: all. */
  readonly ticks?: readonly string[] | undefined;
  readonly formatValue: (value: number) => string;
  /** For the table, where all values of a kind have as many digits; default: `formatValue`. */
  readonly formatColumns?: (values: readonly (number | null)[]) => (value: number) => string;
  /** Shorter, for the axis of values; default: `formatValue`. */
  readonly formatAxis?: (value: number) => string;
  /** Of the axis of values; default: from zero to the highest. */
  readonly domain?: readonly [number, number];
  /** The axis of values has whole numbers only. */
  readonly isCount?: boolean;
  /** Further actions beside "Show as a table". */
  readonly footer?: ReactNode;
}

export const plotHeight = 'h-64 w-full';

const colours = 5;

/** The colour of a series, by its place. */
export const colourOf = (index: number, series: PlotSeries | undefined): string =>
  series?.isRest === true ? 'var(--plot-6)' : `var(--plot-${(index % colours) + 1})`;

const steps = [1, 2, 2.5, 5, 10];

/** At most six ticks from zero on, at round numbers: steps of 1, 2, 2.5 or 5, times a power of ten. The last is `most` or more. */
export function roundTicks(most: number, isCount: boolean): readonly number[] {
  if (most <= 0) return [0, 1];
  const power = 10 ** Math.floor(Math.log10(most / 5));
  const fits = (step: number): boolean => step * 5 >= most * (1 - 1e-9) && !(isCount && !Number.isInteger(step));
  const step =
    [power, power * 10].flatMap((unit) => steps.map((each) => each * unit)).find(fits) ?? Math.ceil(most / 5);
  const count = Math.ceil(most / step - 1e-9);
  // Multiples of a decimal step have digits of rounding.
  return Array.from({ length: count + 1 }, (_, place) => Number((place * step).toPrecision(12)));
}
