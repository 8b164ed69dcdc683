import type { Report } from '../page/report.ts';

/** One part of the bench; undefined where it cannot be measured here, which it has then said. */
export type Part = (options: { readonly quick: boolean }) => Promise<Report | undefined>;

export const noRedis = (): undefined => {
  console.log('There is no Redis. Install redis-server and run again.');
};
