import type { Report } from '../page/report.ts';

/** Runs one part of the benchmark. Undefined if it cannot be measured here; it has printed the reason. */
export type Part = (options: { readonly quick: boolean }) => Promise<Report | undefined>;

export const noRedis = (): undefined => {
  console.log('Redis was not found. Install redis-server and run again.');
};
