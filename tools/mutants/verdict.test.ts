import { expect, it } from 'vitest';
import { verdictOf } from './verdict.ts';

const report = (...tests: readonly (readonly [status: string, message?: string])[]): string =>
  JSON.stringify({
    numTotalTests: tests.length,
    success: tests.every(([status]) => status === 'passed'),
    testResults: [
      {
        assertionResults: tests.map(([status, message], at) => ({
          ...{ status, fullName: `test ${at}` },
          failureMessages: message === undefined ? [] : [message],
        })),
      },
    ],
  });

it.each([
  [
    'an assertion',
    report(['passed'], ['failed', 'AssertionError: expected 1 to be 2']),
    { kind: 'killed', by: 'test 1' },
  ],
  [
    'an assertion about a rejection',
    report(['failed', 'Error: expected [Function] to throw']),
    { kind: 'killed', by: 'test 0' },
  ],
  ['a property', report(['failed', 'Error: Property failed after 3 tests']), { kind: 'killed', by: 'test 0' }],
  [
    'what was awaited',
    report(['failed', 'Error: not within 60000 ms: the answer is booked']),
    { kind: 'killed', by: 'test 0' },
  ],
  ['tests that pass', report(['passed']), { kind: 'survived' }],
  ['a timeout', report(['failed', 'Error: Test timed out in 5000ms.']), { kind: 'unclear' }],
  ['an exception', report(['failed', 'TypeError: x is not a function']), { kind: 'unclear' }],
  ['no tests', report(), { kind: 'unclear' }],
  ['no report', '', { kind: 'unclear' }],
])('%s decides', (_, text, verdict) => {
  expect(verdictOf(text)).toEqual(verdict);
});
