import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { type Comparison, compare } from '../routing-simulation/compare.ts';
import { comparisons } from '../routing-simulation/comparisons.ts';
import { replacePart } from '../routing-simulation/report/document.ts';
import { comparisonPlot } from '../routing-simulation/report/plot.ts';
import { comparisonTable } from '../routing-simulation/report/table.ts';

/**
 * Runs every comparison whole and writes what came of it into `docs/routing.md` and its picture. The same code gives the
 * same figures, wherever and whenever it runs.
 */
const page = new URL('../../docs/routing.md', import.meta.url);
const picture = new URL('../../docs/images/routing-simulation.svg', import.meta.url);

for (const [name, comparison] of Object.entries<Comparison>(comparisons)) {
  const results = compare(comparison, (seed) => process.stderr.write(`${name}: day ${seed}\n`));
  const table = comparisonTable(results);
  console.log(`${name}\n${table}\n`);
  writeFileSync(page, replacePart(readFileSync(page, 'utf8'), name, table));
  if (name === 'ordinary') {
    mkdirSync(new URL('.', picture), { recursive: true });
    writeFileSync(picture, comparisonPlot(results));
  }
}
