/**
 * Counts of values on a logarithmic scale: every step is ten per cent wide, fine enough to order routes by and few
 * enough to keep. Values from 1 to about ten million; what is below or above counts in the first or last step.
 */
export type Histogram = number[];

const base = 1.1;
/** The last step stands for 1.1^170, about three hours in ms. */
export const histogramSteps = 171;

/** A plain array: of typed ones, which live outside of the heap, thousands are slow to make and to collect. */
export const emptyHistogram = (): Histogram => new Array<number>(histogramSteps).fill(0);

/** The step that a value falls into. */
export const stepOf = (value: number): number =>
  Math.max(0, Math.min(histogramSteps - 1, Math.round(Math.log(Math.max(value, 1)) / Math.log(base))));

export function samplesIn(histogram: Histogram): number {
  let samples = 0;
  for (let step = 0; step < histogramSteps; step += 1) samples += histogram[step] ?? 0;
  return samples;
}

/**
 * The value that this percentage of the samples do not exceed, to within five per cent and one decimal; undefined
 * where there are no samples.
 */
export function percentileOf(histogram: Histogram, percentile: number): number | undefined {
  const wanted = (samplesIn(histogram) * percentile) / 100;
  let seen = 0;
  for (let step = 0; step < histogramSteps; step += 1) {
    seen += histogram[step] ?? 0;
    if (seen > 0 && seen >= wanted) return Math.round(base ** step * 10) / 10;
  }
  return undefined;
}
