import { describe, expect, it } from 'vitest';
import { overviewDays } from '../usage/days.ts';
import { dailyRate, daysLeft, figuresOf, firstTokenWithin, recentEnds, topsOf } from './overview-figures.ts';

const now = Date.parse('2026-03-11T00:00:00Z');
const none = { failed: 0, cancelled: 0, estimated: 0, prompt_tokens: 0 };
const noTokens = { ...none, cached_tokens: 0, completion_tokens: 0, reasoning_tokens: 0 };
const row = (day: string, cost: number, requests = 1) => ({ day, cost, requests, ...noTokens });

it('reads the previous month and this one, which hold the last 30 days', () => {
  expect(overviewDays(now)).toEqual({ from: '2026-02-01', last30: '2026-02-10', to: '2026-03-12' });
  expect(overviewDays(Date.parse('2026-01-01T12:00:00Z')).from).toBe('2025-12-01');
});

it('sums today, this month and the previous one, and projects this month at its rate', () => {
  const failing = { ...row('2026-03-10', 3, 5), failed: 2 };
  const rows = [{ ...row('2026-02-28', 4), failed: 1 }, row('2026-03-01', 1), failing, row('2026-03-11', 6, 2)];
  expect(figuresOf(rows, now)).toEqual({
    today: { usd: 6, requests: 2 },
    month: { usd: 10, requests: 8, failedShare: 0.25 },
    lastMonth: { usd: 4, requests: 1 },
    projectedUsd: 31,
  });
  const first = figuresOf([], Date.parse('2026-03-01T12:00:00Z'));
  expect([first.projectedUsd, first.month.failedShare]).toEqual([undefined, undefined]);
});

it('counts the requests of the last seven days that failed', () => {
  const failing = (day: string) => ({ ...row(day, 0, 5), failed: 2 });
  const rows = [failing('2026-03-04'), failing('2026-03-05'), failing('2026-03-11'), row('2026-03-10', 1)];
  expect(recentEnds(rows, now)).toEqual({ requests: 11, failed: 4 });
});

it('says within which time half and nine in ten of the streamed answers began', () => {
  const counts = (...answers: number[]) => ({ bounds_ms: [250, 500, 1000], answers });
  expect([0.5, 0.9].map((share) => firstTokenWithin(counts(5, 3, 1, 1), share))).toEqual(['≤ 250 ms', '≤ 1 s']);
  expect([0.5, 0.9].map((share) => firstTokenWithin(counts(0, 1, 0, 1), share))).toEqual(['≤ 500 ms', '> 1 s']);
  expect([firstTokenWithin(counts(0, 0, 0, 0), 0.5), firstTokenWithin(null, 0.5)]).toEqual([undefined, undefined]);
});

describe('the present rate', () => {
  it('is the mean of seven days, and of fewer if the first request is younger', () => {
    expect(dailyRate([row('2026-03-04', 100), row('2026-03-05', 7), row('2026-03-11', 7)], now)).toBe(2);
    expect(dailyRate([row('2026-03-10', 3), row('2026-03-11', 1)], now)).toBe(2);
    expect(dailyRate([row('2026-03-11', 1)], now)).toBe(1);
    expect(dailyRate([row('2026-03-11', 0), row('2026-02-11', 9)], now)).toBe(0);
  });

  it('says how many whole days a balance lasts, unless nothing is spent or it lasts for years', () => {
    expect(daysLeft(10, 3)).toBe(3);
    expect(daysLeft(0, 3)).toBe(0);
    expect(daysLeft(10, 0)).toBeUndefined();
    expect(daysLeft(1000, 0.5)).toBeUndefined();
  });
});

describe('the largest groups', () => {
  const pick = ({ model = '' }: { model?: string | undefined }) => ({ id: model[0] ?? '', name: model });

  it('are five, by cost, with their share of all; groups of one id are one', () => {
    const rows = ['a', 'a2', 'b', 'c', 'd', 'e', 'f'].map((model, place) => ({ ...row('', place + 1), model }));
    const tops = topsOf(rows, pick);
    expect(tops.map(({ id }) => id)).toEqual(['f', 'e', 'd', 'c', 'a']);
    expect(tops[0]).toMatchObject({ usd: 7, requests: 1, share: 7 / 28 });
    expect(tops[4]).toMatchObject({ usd: 3, requests: 2 });
  });

  it('are by requests where all is free', () => {
    const rows = [
      { ...row('', 0, 1), model: 'a' },
      { ...row('', 0, 3), model: 'b' },
    ];
    expect(topsOf(rows, pick).map(({ id, share }) => [id, share])).toEqual([
      ['b', 0.75],
      ['a', 0.25],
    ]);
  });
});
