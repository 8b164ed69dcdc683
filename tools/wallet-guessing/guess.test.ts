import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { cellOf, guess } from './guess.ts';
import { type Habits, habits } from './people.ts';

const threatModel = readFileSync(new URL('../../docs/THREAT_MODEL.md', import.meta.url), 'utf8');
/** A cell of the threat model's table. The first column of rates is for 20 accounts, the second for 1,000. */
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
/** Each takes minutes of one core, and a busy machine shares that core. */
const longMs = 3_600_000;

/**
 * The cells as they were computed, and by which sources. The tool is seeded, so the same sources give the same cells, and only a change
 * of them computes all cells again. `NEW_SOURCES` in the failure is then the digest to write here, once the table is right.
 */
const computed: { readonly sources: string; readonly cells: Readonly<Record<string, readonly [string, string]>> } =
  JSON.parse(readFileSync(new URL('computed.json', import.meta.url), 'utf8'));
const sources = ['guess', 'linked-wallets', 'people', 'possible-lives', 'softmax', '../../test/kit/random'];
const digest = createHash('sha256');
for (const name of sources) digest.update(readFileSync(new URL(`${name}.ts`, import.meta.url)));
const present = digest.digest('hex');
const isComputed = present === computed.sources;

describe('the threat model has the rates of this tool', () => {
  test('as they were computed', () => {
    for (const [name] of named)
      expect([name, cell(name, 1), cell(name, 2)]).toEqual([name, ...(computed.cells[name] ?? [])]);
  });

  // The quickest cell is computed each time, so that the digest is not all that stands for the table.
  const anew = isComputed ? named.filter(([name]) => name === atOnce) : named;
  test.each(anew)('among 20 accounts: %s', (name, habit) => expect(cell(name, 1)).toBe(cellOf(habit, 20)), longMs);
  test.each(isComputed ? [] : named)(
    'among a thousand accounts: %s',
    (name, habit) => expect(cell(name, 2)).toBe(cellOf(habit, 1_000)),
    longMs,
  );
  test('computed.json names the sources that computed it', () => {
    expect(computed.sources, `NEW_SOURCES=${present}`).toBe(present);
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
