import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type DayRange, dateOf, dayRange, monthsOf, weeksOf } from './day-range.ts';

const now = Date.parse('2026-11-21T23:59:59Z');
const at = (text: string): Date => new Date(text);
const dates = ({ from, to }: DayRange): string[] => [dateOf(from), dateOf(to)];

describe('the days of a query', () => {
  it('are thirty, including today', () => {
    expect(dates(dayRange({}, now))).toEqual(['2026-10-23', '2026-11-22']);
  });

  it('begin at `from` and end before `to`', () => {
    const days = dayRange({ from: at('2026-01-01'), to: at('2026-02-01') }, now);
    expect(dates(days)).toEqual(['2026-01-01', '2026-02-01']);
  });

  it('are whole, even if the instants are not', () => {
    const days = dayRange({ from: at('2026-01-01T23:59:00Z'), to: at('2026-02-01T00:00:01Z') }, now);
    expect(dates(days)).toEqual(['2026-01-01', '2026-02-02']);
  });

  it('are the thirty before `to` alone, and those since `from` alone', () => {
    expect(dates(dayRange({ to: at('2026-03-31') }, now))).toEqual(['2026-03-01', '2026-03-31']);
    expect(dates(dayRange({ from: at('2026-11-21') }, now))).toEqual(['2026-11-21', '2026-11-22']);
  });

  it('are at most 400', () => {
    expect(dates(dayRange({ from: at('2025-01-01'), to: at('2026-02-05') }, now))).toHaveLength(2);
    expect(() => dayRange({ from: at('2025-01-01'), to: at('2026-02-06') }, now)).toThrow(
      expect.objectContaining({ type: 'invalid_request', param: 'from' }),
    );
  });

  it('are rejected if the range is empty', () => {
    expect(() => dayRange({ from: at('2026-11-22') }, now)).toThrow(
      expect.objectContaining({ type: 'invalid_request', param: 'from' }),
    );
  });
});

describe.each([
  ['weeks', weeksOf],
  ['months', monthsOf],
])('%s', (_, cut) => {
  it('cover each day once, in order', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 30_000 }), fc.integer({ min: 1, max: 400 }), (from, length) => {
        const pieces = cut({ from, to: from + length });
        const days = pieces.flatMap((piece) => Array.from({ length: piece.to - piece.from }, (_, i) => piece.from + i));
        expect(days).toEqual(Array.from({ length }, (_, i) => from + i));
        expect(pieces.every((piece) => piece.to - piece.from <= (cut === weeksOf ? 7 : 31))).toBe(true);
      }),
    );
  });
});

it('keeps each month in one piece', () => {
  const pieces = monthsOf(dayRange({ from: at('2026-01-15'), to: at('2026-03-10') }, now));
  expect(pieces.map(dates)).toEqual([
    ['2026-01-15', '2026-02-01'],
    ['2026-02-01', '2026-03-01'],
    ['2026-03-01', '2026-03-10'],
  ]);
});
