import { describe, expect, it } from 'vitest';
import { addDays } from '../../format/days.ts';
import { daysOf, hoursOf, hourTicks, last24Hours, stepOf, stepsOf } from './days.ts';

const today = '2026-11-21';

describe('the days of a search', () => {
  it.each([
    [{}, '2026-10-23', today],
    [{ range: 'today' }, today, today],
    [{ range: '7d' }, '2026-11-15', today],
    [{ range: '90d' }, '2026-08-24', today],
    [{ range: 'month' }, '2026-11-01', today],
    [{ range: 'last-month' }, '2026-10-01', '2026-10-31'],
    [{ range: '12m' }, '2025-12-01', today],
    [{ range: '7d', from: '2026-02-01', to: '2026-02-03' }, '2026-02-01', '2026-02-03'],
    [{ from: '2026-02-01' }, '2026-10-23', today],
  ] as const)('%j', (search, from, to) => {
    expect(daysOf(search, today)).toEqual({ from, to });
  });

  it('of the last month in January are of the year before, and leap days count', () => {
    expect(daysOf({ range: 'last-month' }, '2026-01-09')).toEqual({ from: '2025-12-01', to: '2025-12-31' });
    expect(daysOf({ range: 'last-month' }, '2028-03-31')).toEqual({ from: '2028-02-01', to: '2028-02-29' });
    expect(addDays('2028-02-28', 1)).toBe('2028-02-29');
  });

  it('are drawn day by day up to 92 of them, else month by month', () => {
    const days = { from: '2026-08-01', to: '2026-10-31' };
    expect(stepOf(days)).toBe('day');
    expect(stepsOf(days)).toHaveLength(92);
    expect(stepsOf({ ...days, to: '2026-11-01' })).toEqual(['2026-08', '2026-09', '2026-10', '2026-11']);
    expect(stepsOf({ from: today, to: today })).toEqual([today]);
    expect(stepsOf({ from: '2026-11-22', to: today })).toEqual([]);
  });

  it('are drawn by hours up to two of them, for those who may see hours, and so far as time has come', () => {
    expect(stepOf({ from: '2026-11-20', to: today }, true)).toBe('hour');
    expect(stepOf({ from: '2026-11-19', to: today }, true)).toBe('day');
    expect(stepOf({ from: today, to: today })).toBe('day');
    const now = Date.parse('2026-11-21T13:07:00Z');
    const day = { from: today, to: '2026-11-22' };
    expect(hoursOf(day, now)).toHaveLength(14);
    expect(hoursOf(day, now).at(-1)).toBe('2026-11-21T13:00:00.000Z');
    expect(hourTicks(hoursOf(day, now)).map((hour) => hour.slice(11, 16))).toEqual(['00:00', '06:00', '12:00']);
    const both = hoursOf({ from: '2026-11-20', to: '2026-11-22' }, now);
    expect(hourTicks(both).map((hour) => hour.slice(8, 13))).toEqual(['20T00', '20T12', '21T00', '21T12']);
    const last = last24Hours(now);
    expect(last).toEqual({ from: '2026-11-20T14:00:00.000Z', to: '2026-11-21T14:00:00.000Z' });
    expect(hoursOf(last, now)).toHaveLength(24);
  });
});
