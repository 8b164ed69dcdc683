import { type ContenderName, contenders, type Results } from '../compare.ts';
import type { Result } from '../tally.ts';
import { figures } from './figures.ts';

/** The columns, and how each is written. */
const columns: readonly (readonly [head: string, cell: (result: Result) => string])[] = [
  ['success', figures.success],
  ['first provider served', figures.firstServed],
  ['median cost of 1000', figures.medianCost],
  ['to the cheapest of its tier', figures.costToCheapest],
  ['first token p50', figures.ttftP50],
  ['p95', figures.ttftP95],
  ['`anonymous`', (result) => figures.tier(result, 'anonymous')],
  ['`private`', (result) => figures.tier(result, 'private')],
  ['`tee`', (result) => figures.tier(result, 'tee')],
];

/** A comparison as a Markdown table, one contender a line. */
export function comparisonTable(results: Results): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [
    line(['', ...columns.map(([head]) => head)]),
    line(['---', ...columns.map(() => '---:')]),
    ...[...results].map(([name, result]) => line([titleOf(name), ...columns.map(([, cell]) => cell(result))])),
  ].join('\n');
}

export const titleOf = (name: ContenderName): string => contenders[name].name;
