import { createHash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { Redis } from 'ioredis';
import { end, startNode } from '../contender.ts';
import { cpuMicroseconds, familyMicroseconds, percentile, residentMiB } from '../cpu.ts';
import { Load } from '../load.ts';
import { mixedCatalog, openTraffic } from '../mixed-traffic.ts';
import { startPassThrough } from '../others.ts';
import { figure } from '../page/report.ts';
import { benchRegistry, startSotto } from '../sotto.ts';
import { noRedis, type Part } from './part.ts';

/** What is looked at every few seconds. */
interface Sample {
  readonly minute: number;
  readonly brokerMiB: number;
  readonly controlMiB: number;
  readonly redisMiB: number;
  readonly redisKeys: number;
  readonly brokerFiles: number;
  readonly controlFiles: number;
  /** Of a core since the last look, in %. */
  readonly brokerCpu: number;
  readonly controlCpu: number;
  readonly redisCpu: number;
  readonly postgresCpu: number;
  readonly loadCpu: number;
  /** What the same small work takes at best, in ms: how fast the machine is just now. */
  readonly fixedWork: number;
  /** Answered otherwise than expected since the last look. */
  readonly unexpected: number;
  /** Of the requests that ended since the last look, in ms. */
  readonly p50: number;
  readonly p99: number;
  /** Of a bare pass-through that stands on the broker's core and is asked meanwhile, in ms: how slow everything is. */
  readonly bareP50: number;
  readonly bareP99: number;
}

/** Mixed traffic at 70 % of what the service can take, for an hour: nothing may grow. */
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
  // What was too much is booked before what is measured begins.
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
  // An hour is not thrown away for it: the audit says what is wrong.
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

  // What is filled at first (tickets live for five minutes, caches) is no growth.
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
    ['broker, open files and sockets', 'brokerFiles', 1.1],
    ['control, open files and sockets', 'controlFiles', 1.1],
    ['whole answers, p50 ms', 'p50', 1.25],
    ['whole answers, p99 ms', 'p99', 1.5],
  ] as const;
  const alsoLooked = [
    ['the same through a bare pass-through, p50 ms', 'bareP50'],
    ['the same through a bare pass-through, p99 ms', 'bareP99'],
    ['broker, % of a core', 'brokerCpu'],
    ['control, % of a core', 'controlCpu'],
    ['Redis, % of a core', 'redisCpu'],
    ['Postgres, % of a core', 'postgresCpu'],
    ['the load, % of a core', 'loadCpu'],
    ['the same small work each time, ms (how slow the machine is)', 'fixedWork'],
  ] as const;
  const line = (name: string, of: keyof Sample) => ({
    name,
    points: samples.map((sample) => [Number(sample.minute.toFixed(2)), Number(sample[of].toFixed(2))] as const),
  });
  const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
  return {
    title: `${minutes} minutes at 70 % of capacity`,
    method: `${figure(perSecond)} requests a second, 70 % of the ${figure(capacity)} (the highest rate at which every answer was the expected one, and half of the whole ones took no more than ${bearableMs} ms) that broker, control, settler, Redis, Postgres, the provider and the load together do on this machine: whole answers and streams, by key and by tickets that control mints one by one, embeddings, clients that leave in the middle of a stream, providers that fail, requests that are refused. ${total.toLocaleString('en')} in all (${Object.entries(
      counts,
    )
      .map(([what, count]) => `${count.toLocaleString('en')} ${what}`)
      .join(
        ', ',
      )}). ${unexpected.length === 0 ? 'Every answer was the expected one.' : `${unexpected.length} were answered otherwise: ${[...new Set(unexpected)].slice(0, 5).join('; ')}.`} Afterwards \`sotto-control audit\` ${audit.code === 0 ? 'found every nano-dollar' : `failed: ${audit.output.trim()}`}.`,
    tables: [
      {
        caption: 'Medians of an eighth of the time, after the first quarter and at the end',
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
        what: `soak: ${name}, late of early`,
        atMost,
        measured: growth(of),
        unit: '×',
      })),
      ...(
        [
          ['p50', 'bareP50', 1.25],
          ['p99', 'bareP99', 1.5],
        ] as const
      ).map(([ours, bares, atMost]) => ({
        what: `soak: whole answers, ${ours}, late of early, of what a bare pass-through’s did meanwhile`,
        atMost,
        measured: growth(ours) / growth(bares),
        unit: '×',
      })),
      { what: 'soak: unexpected answers', atMost: 0, measured: unexpected.length, unit: '' },
      { what: 'soak: money still set aside', atMost: 0, measured: isSettled ? 0 : 1, unit: '' },
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

/** How often the bare pass-through is asked beside the traffic. */
const besidesPerSecond = 25;
/** Half of the whole answers at capacity take no longer, in ms. */
const bearableMs = 5;

/**
 * The highest rate, in requests a second, at which for a while every answer was the expected one and came in bearable time:
 * rates are tried from the half upwards of what 32 clients without a pause get, who are served in batches and get more than
 * such as come one by one.
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

/** The least of ten times that hashing a MiB takes: all of it in the processor's cache, nothing of it ours. */
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
