import { histogramSteps } from './histogram.ts';

/**
 * A tally as text: requests, successes, then of each figure the steps that have samples (`12;11;45:3,46:8;;;`). A reader
 * that knows fewer figures leaves the rest out.
 */
export interface RouteRecord {
  readonly requests: number;
  readonly successes: number;
  /** Flat, three numbers each: index of the figure, step, samples. */
  readonly samples: readonly number[];
}

const [zero, nine, comma, colon, semicolon] = [48, 57, 44, 58, 59];
/** More samples than a broker can have in an hour; it keeps sums of them exact. */
const maxCount = 1_000_000_000;

/**
 * Reads a record; undefined where it is none. By character, because a broker reads thousands of them at a time between
 * two pieces of a stream.
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
