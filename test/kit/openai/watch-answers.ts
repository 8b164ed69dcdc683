import { afterAll, afterEach } from 'vitest';
import { problems } from './watched-answers.ts';

/*
 * Vitest `setupFiles`: a test fails if an answer that its process received is not of OpenAI's schema. Vitest evaluates this
 * module for each file of tests, and the one that observes once in each worker.
 */

function fail(): void {
  if (problems.length === 0) return;
  throw new Error(`not of OpenAI's schema:\n${[...new Set(problems.splice(0))].slice(0, 5).join('\n')}`);
}
afterEach(fail);
afterAll(fail);
