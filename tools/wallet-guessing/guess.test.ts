import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { guess, sampleOf } from './guess.ts';
import { type Habits, habits } from './people.ts';

const threatModel = readFileSync(new URL('../../docs/THREAT_MODEL.md', import.meta.url), 'utf8');
/** A cell of the threat model's table. The columns of rates are for 20, 1,000 and 100,000 accounts. */
const cell = (name: string, column: number): string => {
  const row = threatModel.split('\n').find((line) => line.startsWith(`| ${name} |`));
  return row?.split(' | ')[column]?.replace(' |', '') ?? 'none';
};
/** The rates of a cell in per cent: of one wallet, and of weeks. */
const rates = (name: string, column: number): [one: number, weeks: number] => {
  const [one = '', weeks = ''] = cell(name, column).replace('<1', '0').replace(' %', '').split(' / ');
  return [Number(one), Number(weeks)];
};
const named = Object.entries(habits) as [string, Habits][];
const [atOnce, justBefore, apart, tenApart] = Object.keys(habits) as [string, string, string, string];

/**
 * The table's cells and a small sample of each habit, as one run of `guess.ts` wrote them. All cells take a core for half an hour. The
 * sample takes seconds, and the tool is seeded. So a sample that is still the same says that the cells would be, too.
 */
const computed: Readonly<Record<string, { readonly cells: readonly string[]; readonly sample: string }>> = JSON.parse(
  readFileSync(new URL('computed.json', import.meta.url), 'utf8'),
);

describe('the threat model has the rates of this tool', () => {
  test.each(named)('as they were computed: %s', (name) => {
    expect(computed[name]?.cells).toEqual([cell(name, 1), cell(name, 2), cell(name, 3)]);
  });

  test.each(named)('and the tool still computes them: %s', (name, habit) => {
    expect(sampleOf(habit), 'The guesses changed. Run `guess.ts`, then update the threat model.').toBe(
      computed[name]?.sample,
    );
  });
});

test('the same seed gives the same guesses', () => {
  const once = () => guess(habits[apart as keyof typeof habits], { accounts: 20, targets: 20, linked: 20, seed: 1 });
  expect(once()).toEqual(once());
});

describe('what the rates say', () => {
  test('resting alone hides little, because spending says when the next batch must be bought', () => {
    expect(rates(justBefore, 2)[0]).toBeGreaterThan(rates(atOnce, 2)[0] * 0.7);
    for (const name of [justBefore, apart]) expect(rates(name, 2)[1]).toBeGreaterThan(90);
  });

  test('buying at another time hides one wallet, and many batches at once hide weeks better', () => {
    expect(rates(apart, 2)[0]).toBeLessThan(rates(justBefore, 2)[0] / 5);
    expect(rates(tenApart, 2)[1]).toBeLessThan(rates(apart, 2)[1] * 0.6);
  });

  test('among few accounts, nothing hides weeks', () => {
    for (const name of Object.keys(habits)) expect(rates(name, 1)[1]).toBeGreaterThan(85);
  });
});
