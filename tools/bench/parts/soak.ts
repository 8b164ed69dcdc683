import { createHash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { Redis } from 'ioredis';
import { end, startNode } from '../contender.ts';
import { cpuMicroseconds, familyMicroseconds, percentile, residentMiB } from '../cpu.ts';
import { Load } from '../load.ts';
import { mixedCatalog, openTraffic } from '../mixed-traffic.ts';
import { startPassThrough } from '../others.ts';
import { figure, noRedis, type Part } from '../page/report.ts';
import { benchRegistry, startSotto } from '../sotto.ts';

/** A sample, taken every few seconds. */
interface Sample {
  readonly minute: number;
  readonly brokerMiB: number;
  readonly controlMiB: number;
  readonly redisMiB: number;
  readonly redisKeys: number;
  readonly brokerFiles: number;
  readonly controlFiles: number;
  /** Share of a core since the last sample, in %. */
  readonly brokerCpu: number;
  readonly controlCpu: number;
  readonly redisCpu: number;
  readonly postgresCpu: number;
  readonly loadCpu: number;
  /** The fastest time of a fixed piece of work, in ms. It shows how fast the machine is now. */
  readonly fixedWork: number;
  /** Unexpected answers since the last sample. */
  readonly unexpected: number;
  /** Times of the requests that ended since the last sample, in ms. */
  readonly p50: number;
  readonly p99: number;
  /** Times of a bare pass-through on the broker's core, in ms. They show how slow everything is now. */
  readonly bareP50: number;
  readonly bareP99: number;
}

/** Runs mixed traffic at 70 % of the service's capacity for an hour. Nothing may grow. */
export const soak: Part = async ({ quick }) => {
  const minutes = quick ? 4 : 60;
  const everyMs = quick ? 2000 : 10_000;
  const provider = await startNode('./processes/provider.ts', [], false);
  const upstream = `http://127.0.0.1:${provider.port}/v1`;
  const sotto = await startSotto({
    registry: benchRegistry(upstream),
    catalog: mixedCatalog,
    discardLogs: true,
  });
  if (sotto === undefined) return noRedis();
  const { service, pids } = sotto;
  const traffic = openTraffic(sotto);
  const bare = await startPassThrough(upstream, 'floor');
  const beside = new Load(bare.target);
  const redis = new Redis(sotto.redisUrl);

  process.stderr.write('capacity\n');
  const capacity = await mostTaken(traffic, quick ? 3000 : 20_000);
  const perSecond = capacity * 0.7;
  // Book the warm-up's settlements before the measurement begins.
  await sotto.contender('key').rest?.();
  traffic.taken.length = 0;

  const samples: Sample[] = [];
  const bareTimes: number[] = [];
  const startedAt = performance.now();
  const usedMicroseconds = (): number[] => [
    cpuMicroseconds([service.broker.pid]),
    cpuMicroseconds([service.control.pid]),
    pids.redis === undefined ? 0 : cpuMicroseconds([pids.redis]),
    pids.postgres === undefined ? 0 : familyMicroseconds(pids.postgres),
    cpuMicroseconds([process.pid]),
  ];
  let last = { at: startedAt, used: usedMicroseconds(), unexpected: 0 };
  const look = async (): Promise<void> => {
    const memory = await redis.info('memory');
    const times = traffic.taken.splice(0);
    const bareOnes = bareTimes.splice(0);
    const fixedWork = fixedWorkMs();
    const now = { at: performance.now(), used: usedMicroseconds(), unexpected: traffic.unexpected.length };
    const [brokerCpu = 0, controlCpu = 0, redisCpu = 0, postgresCpu = 0, loadCpu = 0] = now.used.map(
      (used, index) => (used - (last.used[index] ?? 0)) / (now.at - last.at) / 10,
    );
    samples.push({
      ...{ brokerCpu, controlCpu, redisCpu, postgresCpu, loadCpu, fixedWork },
      unexpected: now.unexpected - last.unexpected,
      minute: (performance.now() - startedAt) / 60_000,
      brokerMiB: residentMiB([sotto.service.broker.pid]),
      controlMiB: residentMiB([sotto.service.control.pid]),
      redisMiB: Number(/used_memory:(\d+)/.exec(memory)?.[1] ?? 0) / 2 ** 20,
      redisKeys: await redis.dbsize(),
      brokerFiles: openFiles(sotto.service.broker.pid),
      controlFiles: openFiles(sotto.service.control.pid),
      p50: percentile(times, 50),
      p99: percentile(times, 99),
      bareP50: percentile(bareOnes, 50),
      bareP99: percentile(bareOnes, 99),
    });
    last = now;
  };
  const besides = setInterval(() => {
    void beside.request('json', false).then(
      ({ firstByteMs }) => bareTimes.push(firstByteMs),
      () => {},
    );
  }, 1000 / besidesPerSecond);
  const looking = setInterval(() => void look(), everyMs);
  const minutely = setInterval(() => {
    const now = samples.at(-1);
    process.stderr.write(
      `${now?.minute.toFixed(0)} min: broker ${now?.brokerMiB.toFixed(0)} MiB, p50 ${now?.p50.toFixed(1)} ms, ${traffic.unexpected.length} unexpected ${traffic.unexpected.at(-1) ?? ''}\n`,
    );
  }, 60_000);
  const { counts, unexpected } = await traffic.openLoop(perSecond, minutes * 60_000);
  clearInterval(besides);
  clearInterval(looking);
  clearInterval(minutely);
  traffic.close();
  // Keep the hour's results. The audit reports the problem.
  const isSettled = await sotto.service.settled(sotto.account).then(
    () => true,
    () => false,
  );
  const audit = await sotto.service.runControl(['audit']);
  await redis.quit();
  await beside.close();
  await bare.stop();
  await sotto.stop();
  await end(provider.child);

  // Tickets, which are valid for five minutes, and caches fill first. That is not growth.
  const [from, to] = [minutes / 4, (minutes * 3) / 4];
  const early = samples.filter(({ minute }) => minute >= from && minute < from + minutes / 8);
  const late = samples.filter(({ minute }) => minute >= to + minutes / 8);
  const middle = (some: readonly Sample[], of: keyof Sample): number =>
    percentile(
      some.map((sample) => sample[of]),
      50,
    );
  const growth = (of: keyof Sample): number => middle(late, of) / middle(early, of);
  const looked = [
    ['broker, resident MiB', 'brokerMiB', 1.1],
    ['control, resident MiB', 'controlMiB', 1.1],
    ['Redis, MiB', 'redisMiB', 1.1],
    ['Redis, keys', 'redisKeys', 1.1],
    ['broker, open files and sockets', 'brokerFiles', 1.2],
    ['control, open files and sockets', 'controlFiles', 1.1],
  ] as const;
  const alsoLooked = [
    ['whole answers, p50 ms', 'p50'],
    ['whole answers, p99 ms', 'p99'],
    ['the same through a bare pass-through, p50 ms', 'bareP50'],
    ['the same through a bare pass-through, p99 ms', 'bareP99'],
    ['broker, % of a core', 'brokerCpu'],
    ['control, % of a core', 'controlCpu'],
    ['Redis, % of a core', 'redisCpu'],
    ['Postgres, % of a core', 'postgresCpu'],
    ['the load, % of a core', 'loadCpu'],
    ['a fixed piece of work, ms (speed of the machine)', 'fixedWork'],
  ] as const;
  const line = (name: string, of: keyof Sample) => ({
    name,
    points: samples.map((sample) => [Number(sample.minute.toFixed(2)), Number(sample[of].toFixed(2))] as const),
  });
  const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
  return {
    title: `${minutes} minutes at 70 % of capacity`,
    method: `${figure(perSecond)} requests per second, 70 % of the capacity of ${figure(capacity)}. The capacity is the highest rate with only expected answers and a median of whole answers of at most ${bearableMs} ms. All processes share the machine. The traffic is that of [a million requests](#cost-of-a-million-requests), with clients that leave and rejected requests. ${total.toLocaleString('en')} requests. ${unexpected.length === 0 ? 'Every answer was as expected.' : `${unexpected.length} answers were unexpected: ${[...new Set(unexpected)].slice(0, 5).join('; ')}.`} Afterwards \`sotto-control audit\` ${audit.code === 0 ? 'found no difference, to the nano-dollar' : `failed: ${audit.output.trim()}`}.`,
    tables: [
      {
        caption: 'Medians over an eighth of the hour, early (after the first quarter) and late (at the end)',
        head: ['', 'early', 'late', 'late/early'],
        rows: [...looked, ...alsoLooked].map(([name, of]) => [
          name,
          ...[early, late].map((some) => figure(middle(some, of), of === 'fixedWork' ? 3 : 1)),
          figure(growth(of), 2),
        ]),
      },
    ],
    promises: [
      ...looked.map(([name, of, atMost]) => ({
        what: `soak: ${name}, late/early`,
        atMost,
        measured: growth(of),
        unit: '×',
      })),
      ...(
        [
          ['p50', 'bareP50', 1.3, 'it is a time of about a millisecond, in which processes that share the cores show.'],
          ['p99', 'bareP99', 1.5, undefined],
        ] as const
      ).map(([ours, bares, atMost, because]) => ({
        what: `soak: whole answers, ${ours}, late/early, relative to a bare pass-through`,
        atMost,
        measured: growth(ours) / growth(bares),
        unit: '×',
        ...(because === undefined ? {} : { because }),
      })),
      { what: 'soak: unexpected answers', atMost: 0, measured: unexpected.length, unit: '' },
      { what: 'soak: holds still open', atMost: 0, measured: isSettled ? 0 : 1, unit: '' },
      { what: 'soak: findings of the audit', atMost: 0, measured: audit.code, unit: '' },
    ],
    plots: [
      {
        kind: 'lines',
        name: 'soak-memory',
        title: 'Memory over the soak',
        unit: 'MiB',
        lines: [line('broker', 'brokerMiB'), line('control', 'controlMiB'), line('Redis', 'redisMiB')],
      },
      {
        kind: 'lines',
        name: 'soak-latency',
        title: 'Whole answers over the soak',
        unit: 'ms',
        lines: [line('p50', 'p50'), line('p99', 'p99')],
      },
      {
        kind: 'lines',
        name: 'soak-cpu',
        title: 'CPU over the soak',
        unit: '% of a core',
        lines: [
          line('broker', 'brokerCpu'),
          line('control', 'controlCpu'),
          line('Redis', 'redisCpu'),
          line('Postgres', 'postgresCpu'),
          line('the load', 'loadCpu'),
        ],
      },
    ],
  };
};

/** Requests per second to the bare pass-through. */
const besidesPerSecond = 25;
/** Limit for the median time of whole answers at capacity, in ms. */
const bearableMs = 5;

/**
 * Returns the highest rate in requests per second at which every answer is as expected and fast enough. It tries rates
 * from half of the throughput of 32 clients without pauses. Such clients are served in batches, so they get more than
 * independent ones.
 */
async function mostTaken(traffic: ReturnType<typeof openTraffic>, forMs: number): Promise<number> {
  await traffic.closedLoop(32, forMs);
  let most = 0;
  for (let rate = 0.5 * (await traffic.closedLoop(32, forMs)); ; rate *= 1.08) {
    traffic.taken.length = 0;
    const { unexpected } = await traffic.openLoop(rate, forMs);
    const p50 = percentile(traffic.taken, 50);
    process.stderr.write(`${rate.toFixed(0)}/s: ${unexpected.length} unexpected, p50 ${p50.toFixed(1)} ms\n`);
    const isTaken = unexpected.length === 0 && p50 <= bearableMs;
    if (!isTaken && most === 0) throw new Error(`not even ${rate.toFixed(0)}/s: ${unexpected[0] ?? `p50 ${p50} ms`}`);
    if (!isTaken) return most;
    most = rate;
  }
}

/** Returns the shortest of ten times to hash a MiB, which stays in the processor's cache and uses none of our code. */
function fixedWorkMs(): number {
  const taken = Array.from({ length: 10 }, () => {
    const startedAt = performance.now();
    createHash('sha256').update(block).digest();
    return performance.now() - startedAt;
  });
  return Math.min(...taken);
}
const block = Buffer.alloc(2 ** 20);

const openFiles = (pid: number): number => readdirSync(`/proc/${pid}/fd`).length;
