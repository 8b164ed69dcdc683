import { it } from 'vitest';

/** Whether this run is `.ci/run`'s: every topology, every picture, and the files of the project `thorough`. */
export const isThorough = process.env.SOTTO_TEST_ALL === '1';

/** A test that runs in a thorough run only: it costs many seconds, and what it finds is seldom new. */
export const thoroughly = it.runIf(isThorough);
