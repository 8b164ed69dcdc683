import type { MeasuredAttempt } from './measured-attempt.ts';

/** The figures measured for each answer, in the order of the record. */
const figures = ['ttftMs', 'tokensPerSecond', 'wholeMs', 'wholeTokensPerSecond'] as const;
export type Figure = (typeof figures)[number];

/** A percentile of fewer answers describes those answers, not the route. This is half of `measurementMinimum`. */
const figureMinimum = 10;

/**
 * The counts of one route: its relevant attempts, how many succeeded, and a histogram of each figure. Tallies of
 * several hours and brokers can be added. It holds no accounts and no content, and its size is bounded.
 */
export class RouteTally {
  readonly routeId: string;
  requests = 0;
  successes = 0;
  /** Indexed by figure. */
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

  /** Adds a record, or with -1 subtracts it. Returns false and changes nothing if the record is malformed. */
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

  /** Writes the tally as a record, which `readRecord` reads. */
  toRecord(): string {
    // `join`, because a string built by appending keeps all its pieces in memory, many times its size.
    return [this.requests, this.successes, ...this.#histograms.map(sectionOf)].join(';');
  }

  /** A percentile of a figure. Undefined with fewer than ten samples. */
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

/**
 * Counts of values on a logarithmic scale. Each step is ten per cent wide: fine enough to order routes, and few enough
 * to store. Values range from 1 to about ten million. Values outside count in the first or last step.
 */
type Histogram = number[];

const base = 1.1;
/** The last step stands for 1.1^170, about three hours in ms. */
const histogramSteps = 171;

/** A plain array. Typed arrays live outside the heap, so thousands of them are slow to create and to collect. */
const emptyHistogram = (): Histogram => new Array<number>(histogramSteps).fill(0);

/** The step that holds a value. */
const stepOf = (value: number): number =>
  Math.max(0, Math.min(histogramSteps - 1, Math.round(Math.log(Math.max(value, 1)) / Math.log(base))));

function samplesIn(histogram: Histogram): number {
  let samples = 0;
  for (let step = 0; step < histogramSteps; step += 1) samples += histogram[step] ?? 0;
  return samples;
}

/**
 * A percentile: this percentage of the samples does not exceed it. Accurate to five per cent and rounded to one
 * decimal. Undefined without samples.
 */
function percentileOf(histogram: Histogram, percentile: number): number | undefined {
  const wanted = (samplesIn(histogram) * percentile) / 100;
  let seen = 0;
  for (let step = 0; step < histogramSteps; step += 1) {
    seen += histogram[step] ?? 0;
    if (seen > 0 && seen >= wanted) return Math.round(base ** step * 10) / 10;
  }
  return undefined;
}

/**
 * A tally as text: requests and successes, then for each figure the steps that have samples (`12;11;45:3,46:8;;;`). A
 * reader that knows fewer figures ignores the rest.
 */
interface RouteRecord {
  readonly requests: number;
  readonly successes: number;
  /** Flat, in groups of three numbers: index of the figure, step, samples. */
  readonly samples: readonly number[];
}

const [zero, nine, comma, colon, semicolon] = [48, 57, 44, 58, 59];
/** More samples than a broker can count in an hour. The limit keeps sums exact. */
const maxCount = 1_000_000_000;

/**
 * Reads a record. Undefined if it is malformed. It reads character by character, because a broker reads thousands of
 * records between two pieces of a stream.
 */
export function readRecord(text: string, figures: number): RouteRecord | undefined {
  const samples: number[] = [];
  const totals = [0, 0];
  let section = 0;
  let step = -1;
  let value = -1;
  let wantsEntry = false;
  for (let at = 0; at <= text.length; at += 1) {
    const code = at === text.length ? semicolon : text.charCodeAt(at);
    if (code >= zero && code <= nine) {
      value = Math.max(value, 0) * 10 + code - zero;
      if (value > maxCount) return undefined;
    } else if (code === colon && section >= 2 && step < 0 && value >= 0) {
      [step, value] = [value, -1];
    } else if (code === comma || code === semicolon) {
      if (section < 2) {
        if (value < 0 || code === comma) return undefined;
        totals[section] = value;
      } else if (step >= 0 && value >= 0 && step < histogramSteps) {
        if (section - 2 < figures) samples.push(section - 2, step, value);
      } else if (step >= 0 || value >= 0 || code === comma || wantsEntry) return undefined;
      wantsEntry = code === comma;
      step = -1;
      value = -1;
      if (code === semicolon) section += 1;
    } else return undefined;
  }
  const [requests = 0, successes = 0] = totals;
  return section < 2 || requests < 1 || successes > requests ? undefined : { requests, successes, samples };
}
