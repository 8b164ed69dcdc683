/**
 * Compares the CPU of this checkout with another commit's: `npm run bench -- pair REV`. `--rounds N` repeats each kind N times
 * (default 9), and `--only TEXT` measures the kinds whose names have the text.
 *
 * Both services run at once, with the same provider and the same load, in turns. A row is the median of the ratios of
 * the turns, so that a machine whose speed drifts does not decide. Before that both are warmed up, because figures
 * begin two to four times too high.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { type Contender, end, runOn, startNode } from '../contender.ts';
import { cpuMicroseconds, median } from '../cpu.ts';
import { type Burst, CostMeter } from '../cpu-cost.ts';
import { figure, noRedis } from '../page/report.ts';
import { type BenchService, benchCatalog, benchRegistry, type Flow, startSotto } from '../sotto.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));

/** Checks a commit out beside this one, and installs what it needs. Returns its folder. */
function checkOut(commit: string): string {
  const folder = join(tmpdir(), `sotto-pair-${commit.slice(0, 12)}`);
  if (!existsSync(folder)) execFileSync('git', ['clone', '--quiet', '--shared', '--no-checkout', root, folder]);
  execFileSync('git', ['-C', folder, 'checkout', '--quiet', '--force', '--detach', commit]);
  // Installs all that the bench needs, and then ends, because it has no part of this name.
  spawnSync(process.execPath, ['scripts/run.mjs', 'bench', 'nothing'], { cwd: folder, stdio: 'ignore' });
  return folder;
}

interface Kind {
  readonly name: string;
  readonly flow: Flow;
  readonly load: Burst;
  readonly warmUp: number;
  readonly body?: (model: string) => string;
}

const prompt = 'The quick brown fox jumps over the lazy dog, and then some. '.repeat(7000);
const whole: Burst = { model: 'json', stream: false, count: 1500, connections: 32 };
const allKinds: readonly Kind[] = [
  { name: 'whole answer, by key', flow: 'key', load: whole, warmUp: 4 },
  { name: 'whole answer, by ticket', flow: 'ticket', load: whole, warmUp: 4 },
  {
    ...{ name: 'stream of 10 events, by ticket', flow: 'ticket', warmUp: 1 },
    load: { model: 'single-10', stream: true, count: 1000, connections: 16 },
  },
  {
    ...{ name: 'stream of 10,000 events, by ticket', flow: 'ticket', warmUp: 1 },
    load: { model: 'single-10000', stream: true, count: 8, connections: 8 },
  },
  {
    ...{ name: 'prompt of 420 kB, by ticket', flow: 'ticket', warmUp: 1 },
    load: { ...whole, count: 150, connections: 16 },
    body: (model) =>
      JSON.stringify({ model: `bench/${model}`, messages: [{ role: 'user', content: prompt }], max_tokens: 300 }),
  },
];

/** CPU in µs per request. */
interface Turn {
  readonly broker: number;
  readonly redis: number;
}

const {
  values,
  positionals: [revision],
} = parseArgs({
  allowPositionals: true,
  options: { rounds: { type: 'string', default: '9' }, only: { type: 'string', default: '' } },
});
const rounds = Number(values.rounds);
const kinds = allKinds.filter(({ name }) => name.includes(values.only));
if (revision === undefined || !Number.isSafeInteger(rounds) || rounds < 1 || kinds.length === 0) {
  process.stderr.write(
    `Usage: npm run bench -- pair REV [--rounds N] [--only TEXT]\nREV is a commit, branch or tag. Kinds: ${allKinds.map(({ name }) => name).join('; ')}\n`,
  );
  process.exit(2);
}
const commit = execFileSync('git', ['-C', root, 'rev-parse', '--verify', `${revision}^{commit}`], {
  encoding: 'utf8',
}).trim();
const other = checkOut(commit);
runOn('the other cores');
const provider = await startNode('./processes/provider.ts', [], false);
const options = {
  registry: benchRegistry(`http://127.0.0.1:${provider.port}/v1`),
  catalog: benchCatalog(['json', 'single-10', 'single-10000']),
};
const theirs = (await import(pathToFileURL(join(other, 'tools/bench/sotto.ts')).href)) as {
  readonly startSotto: typeof startSotto;
};
const services = [await startSotto(options), await theirs.startSotto(options)];
if (services.some((each) => each === undefined)) {
  noRedis();
  process.exit(1);
}
const meter = new CostMeter();
const sides = (services as BenchService[]).map((sotto) => ({
  sotto,
  contenders: kinds.map(({ flow, body }) => sotto.contender(flow, body === undefined ? {} : { body })),
}));

async function turn(sotto: BenchService, contender: Contender, load: Burst): Promise<Turn> {
  const redisPids = sotto.pids.redis === undefined ? [] : [sotto.pids.redis];
  // Tickets are minted before, so that their share of Redis does not count.
  await contender.prepare?.(load.count, load.model);
  const before = cpuMicroseconds(redisPids);
  const { cpuUs } = await meter.measure({ ...contender, prepare: async () => undefined }, load);
  return { broker: cpuUs, redis: (cpuMicroseconds(redisPids) - before) / load.count };
}

process.stdout.write(
  `This checkout beside ${commit.slice(0, 12)}: CPU in µs per request, medians of ${rounds} turns.\n`,
);
for (const [at, { name, load, warmUp }] of kinds.entries()) {
  const turns: (readonly [Turn, Turn])[] = [];
  for (let round = -warmUp; round < rounds; round += 1) {
    const pair: Turn[] = [];
    // The first of a turn is not always the same one.
    for (const side of round % 2 === 0 ? [0, 1] : [1, 0]) {
      const { sotto, contenders } = sides[side] ?? sides[0] ?? never();
      pair[side] = await turn(sotto, contenders[at] ?? never(), load);
    }
    const [ours, before] = pair;
    if (round >= 0 && ours !== undefined && before !== undefined) turns.push([ours, before]);
  }
  for (const part of ['broker', 'redis'] as const) {
    const [own, before] = [0, 1].map((side) => median(turns.map((pair) => pair[side]?.[part] ?? Number.NaN)));
    const ratios = turns.map(([a, b]) => a[part] / b[part]);
    const spread = `${figure(Math.min(...ratios), 2)} to ${figure(Math.max(...ratios), 2)}`;
    process.stdout.write(
      `${name.padEnd(36)} ${part.padEnd(7)} ${figure(own ?? Number.NaN).padStart(6)} ${figure(before ?? Number.NaN).padStart(6)}  × ${figure(median(ratios), 2)}  (${spread})\n`,
    );
  }
}
await meter.close();
for (const { sotto } of sides) await sotto.stop();
await end(provider.child);
process.exit(0);

function never(): never {
  throw new Error('unreachable');
}
