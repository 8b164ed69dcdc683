import { climates, runSeed } from './run.ts';

/**
 * Runs many seeds of every climate:
 * `node --conditions=@sotto/source test/money/simulation/explore.ts [first seed] [seeds] [steps] [climate]`.
 */
const [first = '1', count = '50', steps = '3000', only] = process.argv.slice(2);
const seen = new Map<string, number>();
let failed = 0;
for (const climate of Object.keys(climates)) {
  if (only !== undefined && climate !== only) continue;
  const started = performance.now();
  for (let seed = Number(first); seed < Number(first) + Number(count); seed += 1) {
    try {
      for (const [what, times] of await runSeed(climate, seed, Number(steps))) {
        seen.set(`${climate}: ${what}`, (seen.get(`${climate}: ${what}`) ?? 0) + times);
      }
    } catch (error) {
      failed += 1;
      process.stdout.write(`${error instanceof Error ? error.message : error}\n`);
      if (failed > 20) process.exit(1);
    }
  }
  process.stdout.write(`${climate}: ${Math.round(performance.now() - started)} ms\n`);
}
if (process.env.SHOW) for (const [what, times] of seen) process.stdout.write(`${what}: ${times}\n`);
process.exitCode = failed > 0 ? 1 : 0;
