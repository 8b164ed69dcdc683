import { type Contender, end, startNode } from './contender.ts';
import { cpuMicroseconds, median, percentile, residentMiB } from './cpu.ts';
import { Load } from './load.ts';
import { startDirect, startNginx, startPassThrough, startPortkey } from './others.ts';
import { printReport, type Row } from './report.ts';
import { startSotto } from './sotto.ts';

/**
 * Everything in one run, interleaved: round by round each contender gets the same load on the same core, and medians
 * are compared. `--quick` runs fewer and shorter rounds.
 */
const quick = process.argv.includes('--quick');
const rounds = quick ? 3 : 7;
const json = { model: 'json', stream: false, count: quick ? 1500 : 4000, connections: 32 } as const;
const events = 1000;
const singles = { model: `single-${events}`, stream: true, count: quick ? 16 : 32, connections: 16 } as const;
const bursts = { model: `burst-${events}`, stream: true, count: quick ? 32 : 96, connections: 16 } as const;
const latency = { model: 'single-5', stream: true, count: quick ? 400 : 1200 } as const;
const held = quick ? 300 : 1000;

const provider = await startNode('./processes/provider.ts', [], false);
const upstream = `http://127.0.0.1:${provider.port}/v1`;
const sotto = await startSotto(upstream, [json.model, singles.model, bursts.model, latency.model, 'hold']);
const contenders: Contender[] = [
  startDirect(upstream),
  await startPassThrough(upstream, 'floor'),
  await startPassThrough(upstream, 'stream-send'),
];
for (const start of [startNginx, startPortkey]) {
  const contender = await start(upstream).catch(() => undefined);
  if (contender !== undefined) contenders.push(contender);
}
if (sotto === undefined) console.log('Sotto is left out: there is no Redis. Install redis-server and run again.');
contenders.push(...(sotto?.contenders ?? []));

const loads = new Map(contenders.map((contender) => [contender, new Load(contender.target)]));
const samples = new Map(
  contenders.map((contender) => [
    contender,
    { json: [] as number[], rps: [] as number[], single: [] as number[], burst: [] as number[], ttfb: [] as number[] },
  ]),
);

/** CPU per unit that a contender spends on a load. */
async function measured(
  contender: Contender,
  options: { model: string; stream: boolean; count: number; connections: number },
  units: number,
): Promise<{ cpuUs: number; perSecond: number }> {
  const load = loads.get(contender);
  if (load === undefined) throw new Error('no load');
  await contender.prepare?.(options.count, options.model);
  const before = cpuMicroseconds(contender.pids());
  const perSecond = await load.closedLoop(options);
  return { cpuUs: (cpuMicroseconds(contender.pids()) - before) / units, perSecond };
}

for (let round = -1; round < rounds; round += 1) {
  process.stderr.write(round < 0 ? 'warming up\n' : `round ${round + 1} of ${rounds}\n`);
  for (const contender of contenders) {
    const sample = samples.get(contender);
    const load = loads.get(contender);
    if (sample === undefined || load === undefined) continue;
    try {
      const whole = await measured(contender, json, json.count);
      const single = await measured(contender, singles, singles.count * events);
      const burst = await measured(contender, bursts, bursts.count * events);
      if (round < 0) {
        sample.rps.push(whole.perSecond);
        continue;
      }
      sample.json.push(whole.cpuUs);
      sample.rps.push(whole.perSecond);
      sample.single.push(single.cpuUs);
      sample.burst.push(burst.cpuUs);
    } catch (error) {
      process.stderr.write(`${contender.name}: ${error instanceof Error ? error.message : 'failed'}\n`);
    }
  }
}

// Added time to first byte at half of what the floor can take, the same rate for everybody, interleaved.
const floor = contenders[1];
const slowest = Math.min(
  ...(sotto?.contenders ?? contenders).map((contender) => median(samples.get(contender)?.rps ?? [])),
);
const perSecond = Math.max(20, Math.floor(slowest / 2 / 3));
for (let round = 0; round < rounds; round += 1) {
  for (const contender of contenders) {
    await contender.prepare?.(latency.count, latency.model);
    const timings = await loads
      .get(contender)
      ?.openLoop({ ...latency, perSecond })
      .catch(() => []);
    samples.get(contender)?.ttfb.push(...(timings ?? []));
  }
}

const rows: Row[] = [];
for (const contender of contenders) {
  const sample = samples.get(contender);
  const load = loads.get(contender);
  if (sample === undefined || load === undefined) continue;
  rows.push({
    name: contender.name,
    cpuPerRequest: median(sample.json),
    requestsPerSecond: median(sample.rps),
    cpuPerSingleChunk: median(sample.single),
    cpuPerBurstChunk: median(sample.burst),
    ttfbP50: percentile(sample.ttfb, 50),
    ttfbP99: percentile(sample.ttfb, 99),
    streamsMiB: await openStreams(contender, load),
  });
}
printReport(rows, { rounds, perSecond, held, floor: floor?.name ?? '' });

for (const load of loads.values()) await load.close();
for (const contender of contenders) await contender.stop();
await sotto?.stop();
await end(provider.child);
process.exit(0);

/** Resident memory with many streams open; undefined where the contender has no process of its own. */
async function openStreams(
  contender: Contender,
  load: Load,
): Promise<{ readonly before: number; readonly after: number } | undefined> {
  if (contender.pids().length === 0) return undefined;
  try {
    const before = residentMiB(contender.pids());
    await contender.prepare?.(held, 'hold');
    const closes: (() => void)[] = [];
    for (let opened = 0; opened < held; opened += 50) {
      closes.push(...(await Promise.all(Array.from({ length: 50 }, () => load.open('hold')))));
    }
    const after = residentMiB(contender.pids());
    for (const close of closes) close();
    return { before, after };
  } catch {
    return undefined;
  }
}
