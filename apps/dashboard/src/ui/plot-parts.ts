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
  readonly formatValue: (value: number) => string;
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
