// Runs one target of `npm run fuzz` in its own process. Arguments: group, name, runs, seconds, seed.

import { keepFinding, writeCorpus } from './engine/corpus.ts';
import { BlockCoverage, fuzzTarget, minimize } from './engine/fuzz-target.ts';
import { Finding } from './engine/read-once.ts';
import { targetGroups } from './targets/index.ts';

const [, , group = '', name = '', runs = '', seconds = '', seed = ''] = process.argv;
// Millions of rejections are expected. Their stack traces cost more than reading the input.
Error.stackTraceLimit = 2;
const memoryBound = 1536 * 1024 * 1024;

// V8 counts blocks only in code that is compiled after this.
const coverage = new BlockCoverage();
const target = (await targetGroups[Number(group)]?.load())?.find((each) => each.name === name);
if (target === undefined) throw new Error(`unknown target ${name}`);
const startedAt = Date.now();
try {
  const budget = { runs: Number(runs), until: startedAt + Number(seconds) * 1000 };
  const result = await fuzzTarget(target, { coverage, seed: Number(seed), budget });
  const tookMs = Math.max(1, Date.now() - startedAt);
  const rss = process.memoryUsage.rss();
  if (rss > memoryBound) throw new Error(`${name} left ${Math.round(rss / 2 ** 20)} MiB in use`);
  process.send?.({ runs: result.runs });
  const kept = await minimize(target, result.corpus, coverage);
  writeCorpus(name, kept);
  console.log(
    `${name}: ${result.runs} inputs, ${Math.round((result.runs * 1000) / tookMs)} a second, ${result.blocks} blocks, ${kept.length} kept, slowest ${Math.round(result.slowestMs)} ms`,
  );
} catch (error) {
  if (!(error instanceof Finding)) throw error;
  const file = keepFinding(name, error.input);
  console.log(`${error.message}, kept as ${file}: ${String(error.cause).slice(0, 2000)}`);
  process.exitCode = 1;
}
coverage.close();
process.disconnect?.();
