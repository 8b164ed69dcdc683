import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { compare, comparisons, type Results, Tally } from './compare.ts';
import { sotto } from './contenders/sotto.ts';
import { comparisonTable, readPart } from './report/table.ts';
import { runDay } from './run-day.ts';
import { providersByTier } from './world/providers.ts';
import { drawWorld } from './world/world.ts';

/** The promises of Default, on days with 50 providers. See docs/reference/simulation.md. */
const mostBelowTheBest = 0.001;
const mostAboveTheCheapest = 1.1;

const page = readFileSync(new URL('../../docs/reference/simulation.md', import.meta.url), 'utf8');

describe('Default, on simulated days', () => {
  let results: Results;
  beforeAll(() => {
    results = compare(comparisons.small);
  });
  const of = (name: Parameters<Results['get']>[0]) => {
    const result = results.get(name);
    if (result === undefined) throw new Error(`${name} was not compared`);
    return result;
  };

  it('succeeds at most 0.1 point less often than the best', () => {
    const best = Math.max(...[...results.values()].map(({ successRate }) => successRate));
    expect(best - of('default').successRate).toBeLessThanOrEqual(mostBelowTheBest);
  });

  it('costs within 10 % of the cheapest provider of the tier it chose', () => {
    expect(of('default').costToCheapest).toBeLessThanOrEqual(mostAboveTheCheapest);
    expect(of('default').costToCheapest).toBeGreaterThanOrEqual(1);
  });

  it('sends no plaintext to an encrypted route, like every other contender', () => {
    for (const { tiers } of results.values()) expect(tiers.e2ee).toBe(0);
  });

  it('matches the figures in the documentation', () => {
    expect(readPart(page, 'small')).toBe(comparisonTable(results));
  });

  it('would miss its promises without failover', () => {
    const alone = sotto('', { preferences: { provider_sort: 'default', provider_allow_fallbacks: false } });
    const world = drawWorld(1, comparisons.small.climate);
    const tally = new Tally();
    runDay(world, alone, (ending) => tally.add(world, ending));
    expect(of('default').successRate - tally.result().successRate).toBeGreaterThan(mostBelowTheBest);
  });
});

describe('the documentation', () => {
  const rows = (name: string): string[][] =>
    readPart(page, name)
      .split('\n')
      .map((line) => line.split('|').map((cell) => cell.trim()))
      .map((cells) => cells.slice(1, -1));
  const figure = (cell: string | undefined): number => Number.parseFloat(cell?.replace('$', '') ?? '');
  const behindTheBest = (name: string, counts: (contender: string) => boolean): number => {
    const [head = [], , ...contenders] = rows(name);
    const success = head.indexOf('success');
    expect(contenders[0]?.[0]).toBe('Default');
    const best = Math.max(...contenders.filter(([title = '']) => counts(title)).map((cells) => figure(cells[success])));
    return Number((best - figure(contenders[0]?.[success])).toFixed(2));
  };

  it('shows that Default keeps its promise on ordinary days', () => {
    expect(behindTheBest('ordinary', () => true)).toBeLessThanOrEqual(100 * mostBelowTheBest);
    const [head = [], , ours] = rows('ordinary');
    expect(figure(ours?.[head.indexOf('to the cheapest of its tier')])).toBeLessThanOrEqual(mostAboveTheCheapest);
  });

  it('shows Default at most 0.1 point behind contenders with as many attempts on bad days', () => {
    const asMany = (contender: string): boolean => !contender.includes('no limit of attempts');
    expect(behindTheBest('bad', asMany)).toBeLessThanOrEqual(100 * mostBelowTheBest);
  });

  it('describes the simulated world correctly', () => {
    const { anonymous, private: ofPrivate, tee, e2ee } = providersByTier;
    expect(page.replaceAll('\n', ' ')).toContain(
      `50 providers (${anonymous} \`anonymous\`, ${ofPrivate} \`private\`, ${tee} \`tee\`, ${e2ee} \`e2ee\`)`,
    );
    expect(comparisons.ordinary.seeds).toHaveLength(10);
  });

  it('has the same figures in its table and in its plot', () => {
    const plot = readFileSync(new URL('../../docs/images/routing-simulation.svg', import.meta.url), 'utf8');
    const [head = [], , ...contenders] = rows('ordinary');
    for (const cells of contenders) {
      const cell = (title: string): string => cells[head.indexOf(title)] ?? '';
      expect(plot).toContain(`>${cells[0]?.replaceAll('`', '')}<`);
      expect(plot).toContain(`>${cell('median cost of 1000')}<`);
      expect(plot).toContain(`>${cell('first token p50')}, ${cell('p95')}<`);
    }
  });
});
