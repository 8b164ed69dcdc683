import { emptyHistogram, type Histogram, percentileOf, samplesIn, stepOf } from './histogram.ts';
import type { MeasuredAttempt } from './measured-attempt.ts';
import { readRecord } from './route-record.ts';

/** What is measured of single answers, in the order of the record. */
const figures = ['ttftMs', 'tokensPerSecond', 'wholeMs', 'wholeTokensPerSecond'] as const;
export type Figure = (typeof figures)[number];

/** Of fewer answers a percentile says more about them than about the route: half of what makes a route believed at all. */
const figureMinimum = 10;

/**
 * What is known of one route: the attempts that say something about it, how many succeeded, and a histogram of each
 * figure. Tallies of several hours and brokers add up. No account, no content, and a bounded size.
 */
export class RouteTally {
  readonly routeId: string;
  requests = 0;
  successes = 0;
  /** By the index of the figure. */
  readonly #histograms: (Histogram | undefined)[] = [undefined, undefined, undefined, undefined];

  constructor(routeId: string) {
    this.routeId = routeId;
  }

  count(attempt: MeasuredAttempt): void {
    this.requests += 1;
    if (attempt.success) this.successes += 1;
    for (const [figure, name] of figures.entries()) {
      const value = attempt[name];
      if (value !== undefined) this.#shift(figure, stepOf(value), 1);
    }
  }

  /** Adds what a record says, or with -1 takes it away again. False where it is no record; then nothing has changed. */
  combine(text: string, sign: 1 | -1 = 1): boolean {
    const record = readRecord(text, figures.length);
    if (record === undefined) return false;
    this.requests += sign * record.requests;
    this.successes += sign * record.successes;
    const { samples } = record;
    for (let at = 0; at < samples.length; at += 3) {
      this.#shift(samples[at] ?? 0, samples[at + 1] ?? 0, sign * (samples[at + 2] ?? 0));
    }
    return true;
  }

  /** The tally as a record (`route-record.ts`). */
  toRecord(): string {
    // Joined, not appended to: a text that was put together piece by piece keeps its pieces, many times its size.
    return [this.requests, this.successes, ...this.#histograms.map(sectionOf)].join(';');
  }

  /** A percentile of a figure; undefined where fewer than ten answers showed it. */
  percentile(figure: Figure, percentile: number): number | undefined {
    const histogram = this.#histograms[figures.indexOf(figure)];
    return histogram !== undefined && samplesIn(histogram) >= figureMinimum
      ? percentileOf(histogram, percentile)
      : undefined;
  }

  #shift(figure: number, step: number, samples: number): void {
    const histogram = this.#histograms[figure] ?? emptyHistogram();
    this.#histograms[figure] = histogram;
    histogram[step] = (histogram[step] ?? 0) + samples;
  }
}

function sectionOf(histogram: Histogram | undefined): string {
  if (histogram === undefined) return '';
  const entries: string[] = [];
  for (let step = 0; step < histogram.length; step += 1) {
    const samples = histogram[step] ?? 0;
    if (samples > 0) entries.push(`${step}:${samples}`);
  }
  return entries.join(',');
}
