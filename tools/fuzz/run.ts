// `npm run fuzz -- [target] [--runs N] [--seconds N] [--seed N]`. `target` is `http` (requests to both origins,
// generated from their OpenAPI documents) or a pattern for the names of parsers. The default is all parsers. Coverage
// guides the search in parsers. An input that reaches new code is reduced and stored in `corpus.jsonl`. An input that
// breaks a promise is stored there too and ends the run of its target. Every replay fails until the bug is fixed.

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { fuzzHttp } from './http/fuzz-http.ts';
import { startHttpWorld } from './http/world.ts';
import { targetGroups } from './targets/index.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { runs: { type: 'string' }, seconds: { type: 'string' }, seed: { type: 'string' } },
});
const child = fileURLToPath(new URL('fuzz-one.ts', import.meta.url));
const [pattern] = positionals;
const seconds = Number(values.seconds ?? 3600);
const runs = Number(values.runs ?? (values.seconds === undefined ? 1_000_000 : Number.MAX_SAFE_INTEGER));
const seed = Number(values.seed ?? Date.now() % 1_000_000);

console.log(`seed ${seed}`);
const findings = pattern === 'http' ? await runHttp() : await fuzzParsers({ pattern, runs, seconds, seed });
process.exitCode = findings === 0 ? 0 : 1;

async function runHttp(): Promise<number> {
  const world = await startHttpWorld();
  const result = await fuzzHttp(world, { requests: runs, seed, until: Date.now() + seconds * 1000 });
  await world.service.settled(world.account);
  const { code, output } = await world.service.runControl(['audit']);
  await world.stop();
  console.log(`${result.requests} requests to ${result.operations.size} operations`, result.byStatus);
  for (const finding of result.findings) console.log(`finding: ${finding}`);
  if (code !== 0) console.log(output);
  return result.findings.length + code;
}

interface ParserFuzzOptions {
  /** A pattern for the names of targets. Undefined: all. */
  readonly pattern: string | undefined;
  /** All targets share both. */
  readonly runs: number;
  readonly seconds: number;
  readonly seed: number;
}

/**
 * Fuzzes parsers one after the other, and resolves to the number of findings. Each runs in its own process, because
 * V8's coverage data grows with all code that ran, and queries become slower.
 */
async function fuzzParsers({ pattern, runs, seconds, seed }: ParserFuzzOptions): Promise<number> {
  let read = 0;
  let findings = 0;
  for (const [index, group] of targetGroups.entries()) {
    const chosen = (await group.load()).filter(({ name }) => new RegExp(pattern ?? '').test(name));
    const shares = chosen.reduce((sum, target) => sum + (target.share ?? 1), 0);
    for (const target of chosen) {
      // With a pattern, the matching targets get the whole budget.
      const share = ((pattern === undefined ? group.share : 1) * (target.share ?? 1)) / shares;
      const budget = [Math.ceil(runs * share), seconds * share, seed];
      const running = fork(child, [String(index), target.name, ...budget.map(String)], { execArgv: process.execArgv });
      running.on('message', (done: { readonly runs: number }) => {
        read += done.runs;
      });
      const [code] = (await once(running, 'exit')) as [number | null];
      if (code !== 0) findings += 1;
    }
  }
  if (read + findings === 0) throw new Error(`no target matches ${pattern}`);
  console.log(`${read} inputs, ${findings} findings`);
  return findings;
}
