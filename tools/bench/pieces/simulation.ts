import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { type Comparison, compare, comparisons } from '../../routing-simulation/compare.ts';
import { conversationTable, scenarios } from '../../routing-simulation/conversations/scenarios.ts';
import { comparisonPlot } from '../../routing-simulation/report/plot.ts';
import { comparisonTable, replacePart } from '../../routing-simulation/report/table.ts';

/**
 * Runs every comparison, and writes the results into `docs/reference/simulation.md` and its picture. The same code
 * gives the same figures everywhere.
 */
const page = new URL('../../../docs/reference/simulation.md', import.meta.url);
const picture = new URL('../../../docs/images/routing-simulation.svg', import.meta.url);

const write = (name: string, table: string): void => {
  console.log(`${name}\n${table}\n`);
  writeFileSync(page, replacePart(readFileSync(page, 'utf8'), name, table));
};

for (const [name, comparison] of Object.entries<Comparison>(comparisons)) {
  const results = compare(comparison, (seed) => process.stderr.write(`${name}: day ${seed}\n`));
  write(name, comparisonTable(results));
  if (name === 'ordinary') {
    mkdirSync(new URL('.', picture), { recursive: true });
    writeFileSync(picture, comparisonPlot(results));
  }
}
write('conversations', conversationTable(Object.values(scenarios)));
