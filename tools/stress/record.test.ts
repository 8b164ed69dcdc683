import { describe, expect, it } from 'vitest';
import { missingRuns, withRun } from './record.ts';

const passing = { name: '/a.test.ts', status: 'passed', assertionResults: [] };
const failing = {
  ...{ name: '/a.test.ts', status: 'failed' },
  assertionResults: [
    { status: 'passed', fullName: 'one' },
    { status: 'failed', fullName: 'two', failureMessages: ['Error: late\n  at here'] },
  ],
};

describe('runs of a test file on a busy machine', () => {
  it('are five, and twenty once one has failed', () => {
    let runs = withRun(undefined, 'text', passing);
    expect(missingRuns(runs, 'text')).toBe(4);
    runs = withRun(runs, 'text', failing);
    expect(missingRuns(runs, 'text')).toBe(18);
    expect(runs).toEqual({ text: 'text', passed: 1, failed: 1, failures: ['two: Error: late'] });
  });

  it('begin again when the file changes', () => {
    const runs = withRun(undefined, 'text', passing);
    expect(missingRuns(runs, 'other')).toBe(5);
    expect(withRun(runs, 'other', passing)).toMatchObject({ text: 'other', passed: 1 });
  });

  it('name the error of a file that could not start', () => {
    const broken = { name: '/a.test.ts', status: 'failed', message: 'no Redis\n', assertionResults: [] };
    expect(withRun(undefined, 'text', broken).failures).toEqual(['no Redis']);
  });
});
