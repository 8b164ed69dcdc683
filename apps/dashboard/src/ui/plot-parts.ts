import type { ReactNode } from 'react';

export interface PlotSeries {
  readonly id: string;
  readonly name: string;
  /** What is left over when the others are told apart: drawn without a colour of its own. */
  readonly isRest?: boolean;
}

export interface PlotPoint {
  /** An instant or a day, as `formatX` takes it. */
  readonly x: string;
  /** In the order of the series; null where nothing can be said. */
  readonly values: readonly (number | null)[];
}

export interface PlotProps {
  readonly title: string;
  /** The title is for readers only, where a heading says it already. */
  readonly hideTitle?: boolean;
  /** What the numbers are of, such as "USD per day". */
  readonly unit: string;
  /** Bars that add up, or lines that are compared. */
  readonly kind: 'stack' | 'lines';
  readonly series: readonly PlotSeries[];
  readonly points: readonly PlotPoint[];
  readonly formatX: (x: string) => string;
  /** Shorter, for the axis. */
  readonly formatTick: (x: string) => string;
  readonly formatValue: (value: number) => string;
  /** Shorter, for the axis of values; default: `formatValue`. */
  readonly formatAxis?: (value: number) => string;
  /** Of the axis of values; default: from zero to the highest. */
  readonly domain?: readonly [number, number];
  /** Only what can be counted is marked on the axis of values. */
  readonly isCount?: boolean;
  /** What can be done with these figures, beside showing them as a table. */
  readonly footer?: ReactNode;
}

export const plotHeight = 'h-64 w-full';

const colours = 5;

/** The colour of a series, by its place. */
export const colourOf = (index: number, series: PlotSeries | undefined): string =>
  series?.isRest === true ? 'var(--plot-6)' : `var(--plot-${(index % colours) + 1})`;
