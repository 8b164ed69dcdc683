// Breaks evidence and hands it to every parser and verifier:
// `node --conditions=@sotto/source test/fuzz/run.ts [inputs] [seed] [targets]`. Ten million inputs by default, over all targets;
// with a pattern, the part of them that matching targets have. A crash, an input that takes a second of CPU, or memory beyond
// the bound ends it with the seed and the number of the input, which bring it back.

import { fuzzOnce, fuzzTargets } from '../../packages/attestation/src/testing/fuzz-targets.ts';
import { SeededRandom } from '../../packages/attestation/src/testing/mutate.ts';

const [, , inputsGiven, seedGiven, pattern = ''] = process.argv;
const inputs = Number(inputsGiven ?? 10_000_000);
const seed = Number(seedGiven ?? Date.now() % 1_000_000);
/** Of our own thread's CPU: on a busy machine a second by the clock says nothing. */
const slowMs = 1000;
const cpuMs = (): number => process.threadCpuUsage().user / 1000;
const memoryBound = 768 * 1024 * 1024;

// Refusals are expected by the million; their stack traces are not wanted, and cost more than the reading.
Error.stackTraceLimit = 0;

const totalShare = fuzzTargets.reduce((sum, { share }) => sum + share, 0);
console.log(`${inputs} inputs, seed ${seed}`);
let read = 0;
let peak = 0;
for (const [position, target] of fuzzTargets.entries()) {
  if (!new RegExp(pattern).test(target.name)) continue;
  const random = new SeededRandom(seed + position);
  const count = Math.ceil((inputs * target.share) / totalShare);
  const began = cpuMs();
  let answered = 0;
  let slowest = 0;
  for (let index = 0; index < count; index += 1) {
    const startedAt = cpuMs();
    const outcome = await fuzzOnce(target, random).catch((error: unknown) => {
      throw new Error(`seed ${seed}, input ${index} of ${target.name}`, { cause: error });
    });
    if (outcome === 'answered') answered += 1;
    slowest = Math.max(slowest, cpuMs() - startedAt);
    if (slowest > slowMs) throw new Error(`seed ${seed}, input ${index} of ${target.name} took ${slowest} ms`);
    if (index % 4096 === 0) peak = Math.max(peak, process.memoryUsage.rss());
    if (peak > memoryBound) throw new Error(`seed ${seed}, input ${index} of ${target.name}: ${peak} bytes of memory`);
  }
  read += count;
  const cpu = ((cpuMs() - began) / count).toFixed(4);
  console.log(
    `${target.name}: ${count} inputs, ${((100 * answered) / count).toFixed(1)}% read, ${cpu} ms CPU each, slowest ${slowest.toFixed(0)} ms`,
  );
}
console.log(`${read} inputs, no finding, at most ${Math.round(peak / 2 ** 20)} MiB`);
