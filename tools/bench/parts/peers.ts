import { setup as bundlePrograms } from '../../../test/kit/bundles.ts';
import { startOwnPostgres } from '../../../test/kit/postgres.ts';
import { startService } from '../../../test/kit/service.ts';
import { type Contender, end, startNode } from '../contender.ts';
import { cpuMicroseconds, familyMicroseconds, median, residentMiB } from '../cpu.ts';
import { type Cost, CostMeter } from '../cpu-cost.ts';
import { startDirect, startPassThrough, startPortkey } from '../others.ts';
import { figure, type Part } from '../page/report.ts';
import { startPeers } from '../peers.ts';
import { benchCatalog, benchRegistry, startSotto } from '../sotto.ts';

const atATime = 32;
const events = 200;
type Burst = 'json' | 'one' | 'many';

/** Compares the gateways that this machine has, each as its own start leaves it. Nothing is pinned to a core. */
export const peers: Part = async ({ quick }) => {
  const bursts = {
    json: { model: 'json', stream: false, count: quick ? 300 : 600, connections: atATime },
    one: { model: 'single-1', stream: true, count: quick ? 50 : 200, connections: 16 },
    many: { model: `single-${events}`, stream: true, count: quick ? 16 : 32, connections: 16 },
  } as const;
  const models = Object.values(bursts).map(({ model }) => model);
  const provider = await startNode('./processes/provider.ts', [], false);
  const upstream = `http://127.0.0.1:${provider.port}/v1`;
  const served = { registry: benchRegistry(upstream), catalog: benchCatalog(models) };
  const direct = startDirect(upstream);
  const floor = await startPassThrough(upstream, 'floor', undefined, { pinned: false });
  const portkey = await startPortkey(upstream, { pinned: false }).catch(() => undefined);
  const { started, absent } = await startPeers(upstream);
  for (const name of absent) process.stderr.write(`left out: ${name} is not set\n`);

  await bundlePrograms();
  const postgres = await startOwnPostgres({ durability: 'full' });
  const alone = await startService({ planes: 'one', databaseUrl: await postgres.createDatabase(), ...served });
  const account = await alone.createAccount({ usd: 9_000_000 });
  const defaultStart: Contender = {
    name: 'Sotto, `npm start` (with Postgres)',
    target: {
      origin: new URL(alone.baseUrl).origin,
      path: '/v1/chat/completions',
      headers: () => ({ authorization: `Bearer ${account.inferenceKey}` }),
      model: (name) => `bench/${name}`,
    },
    pids: () => [alone.broker.pid],
    cpuMicroseconds: () => cpuMicroseconds([alone.broker.pid]) + familyMicroseconds(postgres.pid),
    stop: () => alone.stop(),
  };
  const withRedis = await startSotto({ ...served, durable: true, ledgerYields: false, pinned: false });
  const planes: Contender[] = [];
  if (withRedis !== undefined) {
    const { redis, postgres: database } = withRedis.pids;
    const { broker, control } = withRedis.service;
    planes.push(withRedis.contender('key', { name: 'Sotto with Redis: the broker' }), {
      ...withRedis.contender('key', { name: 'Sotto with Redis: all processes' }),
      cpuMicroseconds: () =>
        cpuMicroseconds([broker.pid, control.pid, redis ?? 0]) +
        (database === undefined ? 0 : familyMicroseconds(database)),
    });
  }
  const contenders = [floor, defaultStart, ...planes, ...(portkey === undefined ? [] : [portkey]), ...started];

  const meter = new CostMeter();
  const able: Contender[] = [];
  const streaming = new Set<Contender>();
  for (const contender of contenders) {
    const load = meter.load(contender);
    await load.request('json', false);
    able.push(contender);
    const streams = await load.request('single-1', true).then(
      () => true,
      (error: unknown) => void process.stderr.write(`${contender.name} cannot stream: ${String(error)}\n`),
    );
    if (streams === true) streaming.add(contender);
  }
  // A gateway that costs a hundred times as much gets fewer requests, and warms up in proportion.
  const warmUp = quick ? 2 : 10;
  const rounds = quick ? 3 : 9;
  const whole = await meter.compare(able, { json: bursts.json }, { rounds, warmUp });
  const streamed = await meter.compare([...streaming], { one: bursts.one, many: bursts.many }, { rounds, warmUp: 1 });
  const costOf = (contender: Contender, burst: Burst): Cost | undefined =>
    burst === 'json' ? whole.get(contender)?.json : streamed.get(contender)?.[burst];
  const times = new Map<Contender, number>();
  for (const contender of [direct, ...able]) {
    const taken: number[] = [];
    for (let at = 0; at < (quick ? 50 : 300); at += 1) {
      taken.push((await meter.load(contender).request('json', false)).firstByteMs);
    }
    times.set(contender, median(taken));
  }
  const memory = new Map(able.map((contender) => [contender, residentMiB(contender.pids())]));
  await meter.close();
  for (const contender of able) await contender.stop();
  await withRedis?.stop();
  await postgres.stop();
  await end(provider.child);

  const perRequest = (contender: Contender): number => costOf(contender, 'json')?.cpuUs ?? Number.NaN;
  const perChunk = (contender: Contender): number =>
    ((costOf(contender, 'many')?.cpuUs ?? Number.NaN) - (costOf(contender, 'one')?.cpuUs ?? Number.NaN)) / (events - 1);
  return {
    title: 'Beside other gateways, as each starts',
    method: `One provider on loopback answers at once. Each gateway has its own defaults, and nothing is pinned to a core; they take turns, after ${warmUp * bursts.json.count} requests of warm-up. Only Sotto holds money: it admits, meters and books each request. Left out, because no setting says where they are: ${absent.join(', ') || 'none'}. Figures are medians of ${rounds} rounds.`,
    tables: [
      {
        caption: '',
        head: [
          '',
          'CPU per request, µs',
          '× floor',
          `requests/s at ${atATime}`,
          'alone, p50 ms',
          'CPU per chunk, µs',
          'memory, MiB',
          'start, s',
        ],
        rows: [
          [direct.name, '', '', '', figure(times.get(direct) ?? Number.NaN, 2), '', '', ''],
          ...able.map((contender) => [
            contender.name,
            figure(perRequest(contender)),
            figure(perRequest(contender) / perRequest(floor), 2),
            figure(costOf(contender, 'json')?.perSecond ?? Number.NaN),
            figure(times.get(contender) ?? Number.NaN, 2),
            streaming.has(contender) ? figure(perChunk(contender), 1) : 'failed',
            figure(memory.get(contender) ?? Number.NaN),
            figure(started.find((peer) => peer === contender)?.startS ?? Number.NaN, 1),
          ]),
        ],
      },
    ],
    promises: [],
  };
};
