import { expect, it } from 'vitest';
import { type Check, compareVerdicts, judge, meetsVerdict, verdicts } from './verdict.ts';

const rungs = { policy_matched: ['claims'], cryptographically_checked: ['signature'], hardware_verified: ['current'] };
const passed = (...names: string[]): Check[] => names.map((name) => ({ name, outcome: 'passed' }));
const notMade = (name: string): Check => ({ name, outcome: 'not_made', reason: 'nothing was given' });

it('orders verdicts by strength, not as strings', () => {
  expect(verdicts).toEqual([
    'unavailable',
    'untrusted',
    'policy_matched',
    'cryptographically_checked',
    'hardware_verified',
  ]);
  expect(compareVerdicts('cryptographically_checked', 'hardware_verified')).toBeLessThan(0);
  expect(compareVerdicts('policy_matched', 'untrusted')).toBeGreaterThan(0);
  expect(meetsVerdict('policy_matched', 'policy_matched')).toBe(true);
  expect(meetsVerdict('cryptographically_checked', 'hardware_verified')).toBe(false);
});

it.each(['hardware-verified', '', null, undefined, 'toString'])('never meets %j, which is not a verdict', (word) => {
  for (const verdict of verdicts) {
    expect(meetsVerdict(verdict, word as never)).toBe(false);
    expect(meetsVerdict(word as never, verdict)).toBe(false);
    expect(() => compareVerdicts(verdict, word as never)).toThrow(/^verdicts are unavailable, untrusted, .*; got /);
    expect(() => compareVerdicts(word as never, verdict)).toThrow(TypeError);
  }
});

it('reaches the highest rung that the checks support', () => {
  expect(judge([], rungs)).toBe('untrusted');
  expect(judge(passed('claims'), rungs)).toBe('policy_matched');
  expect(judge(passed('claims', 'signature'), rungs)).toBe('cryptographically_checked');
  expect(judge(passed('claims', 'signature', 'current'), rungs)).toBe('hardware_verified');
});

it('stops at a check that was skipped or is missing', () => {
  expect(judge([...passed('claims', 'current'), notMade('signature')], rungs)).toBe('policy_matched');
  expect(judge(passed('claims', 'current'), rungs)).toBe('policy_matched');
  expect(judge([...passed('signature', 'current'), notMade('claims')], rungs)).toBe('untrusted');
});

it('is untrusted after one failure of any check', () => {
  const failure: Check = { name: 'anything', outcome: 'failed', reason: 'forged' };
  expect(judge([...passed('claims', 'signature', 'current'), failure], rungs)).toBe('untrusted');
});
