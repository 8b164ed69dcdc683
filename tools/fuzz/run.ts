// `npm run fuzz -- [target] [--runs N] [--seconds N] [--seed N]`. `target` is `http` (requests to both origins, made from their
// descriptions) or a pattern for the names of parsers; without one it is all parsers. These are guided by the code that
// inputs reach: what reaches new code is kept in `corpus/`, cut down to what it needs. What breaks a promise is kept there,
// too, and ends the run of its target: every replay fails until it is mended.

import { parseArgs } from 'node:util';
import { fuzzParsers } from './fuzz-parsers.ts';
import { fuzzHttp } from './http/fuzz-http.ts';
import { startHttpWorld } from './http/world.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { runs: { type: 'string' }, seconds: { type: 'string' }, seed: { type: 'string' } },
});
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
