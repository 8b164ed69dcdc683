import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { guess, sampleOf } from './guess.ts';
import { type Habits, habits } from './people.ts';
import { linkedCell, type View, views } from './sessions.ts';

const read = (file: string): string => readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');
const threatModel = read('docs/THREAT_MODEL.md');
/** The cells of a row of the threat model's tables. The columns of rates are for 20, 1,000 and 100,000 accounts. */
const cellsOf = (name: string): string[] => {
  const row = threatModel.split('\n').find((line) => line.startsWith(`| ${name} |`));
  return (
    row
      ?.split('|')
      .slice(2, -1)
      .map((cell) => cell.trim()) ?? []
  );
};
/** The rates of a cell in per cent: of one wallet, and of weeks. */
const rates = (name: string, column: number): [one: number, weeks: number] => {
  const [one = '', weeks = ''] = (cellsOf(name)[column - 1] ?? '').replaceAll('<1', '0').replace(' %', '').split(' / ');
  return [Number(one), Number(weeks)];
};
const named = Object.entries(habits) as [string, Habits][];
const [onDemand, unwaited, waited, longer] = Object.keys(habits) as [string, string, string, string];

/**
 * The table's cells and a small sample of each habit, as one run of `guess.ts` wrote them. All cells take many minutes. The
 * sample takes seconds, and the tool is seeded. So a sample that is still the same says that the cells would be, too.
 */
const computed: Readonly<Record<string, { readonly cells: readonly string[]; readonly sample: string }>> = JSON.parse(
  read('tools/wallet-guessing/computed.json'),
);

describe('the threat model has the rates of this tool', () => {
  test.each(named)('as they were computed: %s', (name) => {
    expect(computed[name]?.cells).toEqual(cellsOf(name));
  });

  test.each(named)('and the tool still computes them: %s', (name, habit) => {
    expect(sampleOf(habit), 'The guesses changed. Run `guess.ts`, then update the threat model.').toBe(
      computed[name]?.sample,
    );
  });

  test('and those of sessions that counts, charges or minutes link', () => {
    const rows: Record<View, string> = {
      counts: 'the counts of an ordinary settlement',
      charge: 'the charge and the minute of a quiet one',
      minute: 'the minute alone',
    };
    for (const view of views)
      expect(cellsOf(rows[view])).toEqual([5, 20, 100].map((sessions) => linkedCell(sessions, view)));
  });

  test('and the command tells the price of a shorter wait', () => {
    const [short, long] = [unwaited, waited].map((name) => rates(name, 1)[1]);
    const price = /export const shorterWait =\s*'([^']*)'/.exec(
      read('packages/client/src/command/purse-command.ts'),
    )?.[1];
    expect(price).toContain(`names ${short} % of people among 20 accounts, after up to 7 days ${long} %`);
  });
});

test('the same seed gives the same guesses', () => {
  const once = () => guess(habits[waited as keyof typeof habits], { accounts: 20, targets: 20, linked: 20, seed: 1 });
  expect(once()).toEqual(once());
});

describe('what the rates say', () => {
  test('a schedule hides one wallet, and waiting hides all of them better', () => {
    expect(rates(unwaited, 1)[0]).toBeLessThan(rates(onDemand, 1)[0] / 3);
    expect(rates(unwaited, 2)[1]).toBeLessThan(rates(onDemand, 2)[1] * 0.6);
    for (const column of [1, 2]) expect(rates(waited, column)[1]).toBeLessThan(rates(unwaited, column)[1] * 0.7);
    expect(rates(longer, 1)[1]).toBeLessThan(rates(waited, 1)[1]);
  });

  test('among few accounts, nothing hides weeks', () => {
    for (const name of Object.keys(habits)) expect(rates(name, 1)[1]).toBeGreaterThan(20);
  });
});
