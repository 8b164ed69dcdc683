import { it } from 'vitest';

/** Whether tests run in every topology and take every screenshot, as in the thorough part of `.ci/run`. */
export const isThorough = process.env.SOTTO_TEST_ALL === '1';

/** A test for thorough runs only: it takes many seconds and seldom finds anything new. Other runs do not have it. */
export function thoroughly(name: string, test: () => Promise<void>): void {
  if (isThorough) it(name, test);
}
