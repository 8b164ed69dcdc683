import { monitorEventLoopDelay } from 'node:perf_hooks';
import { type AttemptEnd, MeasurementTallies, measureAttempt } from '@sotto/router';
import { createRedisState, MeasurementFollower, type State } from '@sotto/state';
import { startTestRedis, withRedis } from '@sotto/test-servers';
import { until } from '../../../test/kit/service.ts';

/**
 * Measures the cost of measurements if a large catalog is in full use: 500 models at 20 providers, and 40 streams per
 * hour on every route at each of three brokers. `--quick` uses a tenth of the routes.
 */
const quick = process.argv.includes('--quick');
const brokers = 3;
const hours = 24;
const requests = 40;
const routes = Array.from(
  { length: quick ? 1000 : 10_000 },
  (_, index) => `creator-${index % 50}/model-${Math.floor(index / 20)}@provider-${index % 20}`,
);

const redis = await startTestRedis();
if (redis === undefined) {
  console.log('Redis was not found. Install redis-server and run again.');
  process.exit(0);
}
const { url } = redis;
const state = createRedisState({ url });
await until(() => state.readMeasurements(0, undefined).then(() => true), 'Redis answers');

/** Draws roughly normal numbers around 1 from a fixed sequence. */
let seed = 1;
const random = (): number => {
  seed = (seed * 1103515245 + 12345) & 0x7fffffff;
  return seed / 0x7fffffff;
};
const around = (median: number): number => median * Math.exp((random() + random() + random() + random() - 2) * 0.85);
const stream = (): AttemptEnd => ({
  ...{ kind: 'streamed', end: 'complete', ttftMs: around(600), flowMs: around(3000), heldBackMs: 0 },
  output: { tokens: 300, reasoningTokens: 0, bytes: 1200 },
});
const count = (tallies: MeasurementTallies, hour: number, routeId: string): void => {
  const measured = measureAttempt(stream());
  if (measured !== undefined) tallies.count(hour, routeId, measured);
};
async function share(by: State, tallies: MeasurementTallies): Promise<void> {
  for (let batch = tallies.take(200); batch; batch = tallies.take(200)) await by.shareMeasurements(batch);
}

interface Cost {
  readonly cpuMs: number;
  readonly redisMs: number;
  readonly receivedKb: number;
  readonly longestMs: number;
}

const redisInfo = (section: string, field: string): Promise<number> =>
  withRedis(url, async (connection) => {
    const text = await connection.info(section);
    return Number(text.match(new RegExp(`${field}:([0-9.]+)`))?.[1] ?? 0);
  });
const redisCpuMs = async (): Promise<number> =>
  ((await redisInfo('cpu', 'used_cpu_user')) + (await redisInfo('cpu', 'used_cpu_sys'))) * 1000;

/** Returns what an action costs this process and Redis, and the longest time in which nothing else could run here. */
async function costOf(act: () => Promise<unknown>): Promise<Cost> {
  const [redisBefore, sentBefore] = [await redisCpuMs(), await redisInfo('stats', 'total_net_output_bytes')];
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  const before = process.cpuUsage();
  await act();
  const { user, system } = process.cpuUsage(before);
  delay.disable();
  return {
    cpuMs: (user + system) / 1000,
    redisMs: (await redisCpuMs()) - redisBefore,
    receivedKb: ((await redisInfo('stats', 'total_net_output_bytes')) - sentBefore) / 1000,
    longestMs: delay.max / 1e6,
  };
}
const print = (what: string, { cpuMs, redisMs, receivedKb, longestMs }: Cost): void =>
  console.log(
    `${what.padEnd(44)}${cpuMs.toFixed(1).padStart(9)}${redisMs.toFixed(1).padStart(12)}${receivedKb.toFixed(0).padStart(12)}${longestMs.toFixed(1).padStart(12)}`,
  );

const clock = { now: Date.now() };
const present = Math.floor(clock.now / 3_600_000);
const memoryBefore = await redisInfo('memory', 'used_memory');
const mine = Array.from({ length: brokers }, (_, broker) => new MeasurementTallies(() => `broker-${broker}`));
for (let hour = present - hours + 1; hour <= present; hour += 1) {
  process.stderr.write(`hour ${hour - present + hours} of ${hours}\n`);
  for (const tallies of mine) {
    for (const routeId of routes) for (let times = 0; times < requests; times += 1) count(tallies, hour, routeId);
    await share(state, tallies);
    tallies.forget((known) => known < present);
  }
}
const redisMb = ((await redisInfo('memory', 'used_memory')) - memoryBefore) / 1e6;

/** Collects twice, because the first collection may free objects that refer to others. */
const heap = (): number => {
  globalThis.gc?.();
  globalThis.gc?.();
  return process.memoryUsage().heapUsed;
};
const reader = { follower: new MeasurementFollower(state, () => clock.now) };
console.log(`${routes.length} routes, ${brokers} brokers, ${hours} hours, ${requests} requests an hour each`);
console.log(`Redis holds ${redisMb.toFixed(0)} MB\n`);
console.log(
  `${''.padEnd(44)}${['CPU ms', 'Redis ms', 'kB read', 'longest ms'].map((name, at) => name.padStart(at === 0 ? 9 : 12)).join('')}`,
);
print('first reading, by a broker that begins', await costOf(() => reader.follower.refresh()));
print('refresh, nothing changed', await costOf(() => reader.follower.refresh()));
for (const changed of [200, routes.length]) {
  const [tallies] = mine;
  if (tallies === undefined) throw new Error('no broker');
  for (let round = 0; round < 3; round += 1) {
    for (const routeId of routes.slice(0, changed)) count(tallies, present, routeId);
    const shared = await costOf(() => share(state, tallies));
    const read = await costOf(() => reader.follower.refresh());
    if (round < 2) continue;
    print(`share ${changed} routes`, shared);
    print(`refresh, ${changed} routes changed`, read);
  }
}
print(
  'uptime of a model with 20 routes',
  await costOf(async () => {
    for (const routeId of routes.slice(0, 20))
      for (const hour of reader.follower.window.hours) reader.follower.window.tallyOf(hour, routeId);
  }),
);
clock.now += 3_600_000;
print('refresh, a new hour', await costOf(() => reader.follower.refresh()));
const withReader = heap();
reader.follower = new MeasurementFollower(state, () => clock.now);
if (globalThis.gc) console.log(`\na reader holds ${((withReader - heap()) / 1e6).toFixed(0)} MB`);
await state.close();
await redis.stop();
