import { describe, expect, it } from 'vitest';
import { addHours, namesIn, namesOf, ownersOf, type UsageSumsRow, usagePlot } from './usage-points.ts';

const row = (day: string, model: string, cost: number): UsageSumsRow => ({
  day,
  model,
  requests: 1,
  failed: 0,
  cancelled: 0,
  estimated: 0,
  prompt_tokens: 10,
  cached_tokens: 4,
  completion_tokens: 20,
  reasoning_tokens: 5,
  cost,
});

const plotOf = (rows: readonly UsageSumsRow[], steps = ['2026-11-20', '2026-11-21']) =>
  usagePlot({ rows, steps, kind: 'model', measure: 'cost', nameOf: (subject) => `name of ${subject}` });

describe('usagePlot', () => {
  it('stacks subjects, the largest first, with zero where there was nothing', () => {
    const { series, points } = plotOf([
      row('2026-11-20', 'small', 1),
      row('2026-11-21', 'small', 1),
      row('2026-11-21', 'large', 9),
    ]);
    expect(series.map(({ name }) => name)).toEqual(['name of large', 'name of small']);
    expect(points).toEqual([
      { x: '2026-11-20', values: [0, 1] },
      { x: '2026-11-21', values: [9, 1] },
    ]);
  });

  it('adds up the smallest as one, once there are more than six', () => {
    const of = (count: number) =>
      Array.from({ length: count }, (_, index) => row('2026-11-20', `m${index}`, 10 - index));
    expect(plotOf(of(6)).series.map(({ isRest }) => isRest)).toEqual(Array(6).fill(undefined));
    const { series, points } = plotOf(of(8));
    expect(series.at(-1)).toMatchObject({ name: '3 others', isRest: true });
    expect(points[0]?.values).toEqual([10, 9, 8, 7, 6, 5 + 4 + 3]);
  });

  it('counts tokens in and out, of which cached and reasoning ones are parts', () => {
    const plot = usagePlot({
      rows: [row('2026-11-20', 'small', 1)],
      steps: ['2026-11-20'],
      kind: 'model',
      measure: 'tokens',
      nameOf: String,
    });
    expect(plot.points).toEqual([{ x: '2026-11-20', values: [30] }]);
  });

  it('tells a subject that is nobody from one that is called so, and leaves out what adds nothing', () => {
    const rows: UsageSumsRow[] = [
      { ...row('2026-11-20', 'm', 2), provider: null },
      { ...row('2026-11-20', 'm', 1), provider: 'none' },
      { ...row('2026-11-20', 'm', 0), provider: 'free' },
    ];
    const plot = usagePlot({ rows, steps: ['2026-11-20'], kind: 'provider', measure: 'cost', nameOf: String });
    expect(plot.series.map(({ name }) => name)).toEqual(['null', 'none']);
    expect(plot.points[0]?.values).toEqual([2, 1]);
  });
});

it('adds up the hours of each subject', () => {
  const rows = [row('1', 'small', 1), row('1', 'large', 5), { ...row('2', 'small', 2), failed: 1 }];
  expect(addHours(rows, 'model')).toEqual([
    {
      ...row('2', 'small', 3),
      requests: 2,
      failed: 1,
      prompt_tokens: 20,
      cached_tokens: 8,
      completion_tokens: 40,
      reasoning_tokens: 10,
    },
    row('1', 'large', 5),
  ]);
});

it('sums name the keys of apps and people who left, which no list has', () => {
  const sums = [
    { ...row('', '', 1), key_id: 'app', key_name: 'Notebook', member_id: 'ann', member_email: 'ann@people.example' },
    { ...row('', '', 1), key_id: 'old', key_name: null, member_id: 'gone', member_email: null },
  ];
  const { nameOf } = namesIn(sums, namesOf([], []));
  expect(['app', 'other'].map((key) => nameOf(key, 'key'))).toEqual(['Notebook', 'Key other']);
  expect(['ann', 'gone'].map((id) => nameOf(id, 'member'))).toEqual(['ann@people.example', 'A person who was deleted']);
  expect([...ownersOf([], sums)]).toEqual([
    ['app', 'ann'],
    ['old', 'gone'],
  ]);
});
