import { type ContenderName, contenders, type Result, type Results } from '../compare.ts';

/** Number formats of the table and the plot. */
export const figures = {
  success: ({ successRate }: Result): string => percent(successRate, 2),
  firstServed: ({ firstServed }: Result): string => percent(firstServed, 1),
  medianCost: ({ medianCost }: Result): string => `$${(medianCost * 1000).toFixed(2)}`,
  costToCheapest: ({ costToCheapest }: Result): string => `${costToCheapest.toFixed(3)} ×`,
  ttftP50: ({ ttftMs }: Result): string => seconds(ttftMs.p50),
  ttftP95: ({ ttftMs }: Result): string => seconds(ttftMs.p95),
  tier: ({ tiers }: Result, tier: keyof Result['tiers']): string => percent(tiers[tier], 0),
} as const;

export const percent = (share: number, digits: number): string => `${(share * 100).toFixed(digits)} %`;
const seconds = (ms: number): string => `${(ms / 1000).toFixed(2)} s`;

/** The columns and their formats. */
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

/** Formats a comparison as a Markdown table with one line per contender. */
export const comparisonTable = (results: Results): string =>
  table(
    ['', ...columns.map(([head]) => head)],
    [...results].map(([name, result]) => row([titleOf(name), ...columns.map(([, cell]) => cell(result))])),
  );

/** Formats a Markdown table whose first column is text and whose other columns are figures. */
export const table = (heads: readonly string[], rows: readonly string[]): string =>
  [row(heads), row(heads.map((_, at) => (at === 0 ? '---' : '---:'))), ...rows].join('\n');

/** Formats one line of a Markdown table. */
export const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;

export const titleOf = (name: ContenderName): string => contenders[name].name;

/** Generated parts of a document are between two comments. */
const beginning = (name: string): string => `<!-- simulation ${name}: written by \`npm run bench -- simulation\` -->\n`;
const end = (name: string): string => `\n<!-- end of simulation ${name} -->`;

/** Returns the part with this name. Throws if the document does not have it. */
export function readPart(document: string, name: string): string {
  const [from, to] = bounds(document, name);
  return document.slice(from, to);
}

/** Returns the document with a new version of this part. */
export function replacePart(document: string, name: string, part: string): string {
  const [from, to] = bounds(document, name);
  return document.slice(0, from) + part + document.slice(to);
}

function bounds(document: string, name: string): readonly [from: number, to: number] {
  const start = document.indexOf(beginning(name));
  const from = start + beginning(name).length;
  const to = document.indexOf(end(name), from - 1);
  if (start === -1 || to === -1) throw new Error(`the document does not have the part ${name} of the simulation`);
  return [from, Math.max(from, to)];
}
