import { it } from 'vitest';

/** Whether this run is `.ci/run`'s: every topology, every screenshot, and the files of the project `thorough`. */
export const isThorough = process.env.SOTTO_TEST_ALL === '1';

/** A test for thorough runs only: it takes many seconds and seldom finds anything new. */
export const thoroughly = it.runIf(isThorough);
