import { type ContenderName, compare, contenders } from './compare.ts';
import { comparisonTable } from './report/table.ts';

/**
 * `node --conditions=@sotto/source tools/routing-simulation/explore.ts [seeds] [requests per second] [trouble] [tee
 * routes per model]` simulates days of any climate. Use it to see the effect of a changed rule.
 */
const [seeds = 3, perSecond = 0.1, trouble = 1, teeRoutes = 5] = process.argv.slice(2).map(Number);
const names = Object.keys(contenders) as ContenderName[];
const climate = { perSecond, trouble, teeRoutes };
console.log(
  comparisonTable(compare({ climate, seeds: Array.from({ length: seeds }, (_, index) => index + 1), names })),
);
