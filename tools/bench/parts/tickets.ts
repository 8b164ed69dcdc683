import { maxTicketsTogether } from '@sotto/wire';
import { type Contender, end, startNode } from '../contender.ts';
import { cpuMicroseconds, median, percentile } from '../cpu.ts';
import { CostMeter } from '../cpu-cost.ts';
import { Load } from '../load.ts';
import { startPassThrough } from '../others.ts';
import { figure, noRedis, type Part } from '../page/report.ts';
import { benchCatalog, benchRegistry, startSotto } from '../sotto.ts';

/** Measures the cost of fetching a ticket first: the client's time and control's CPU; and what a request costs Redis. */
export const tickets: Part = async ({ quick }) => {
  const provider = await startNode('./processes/provider.ts', [], false);
  const sotto = await startSotto({
    registry: benchRegistry(`http://127.0.0.1:${provider.port}/v1`),
    catalog: benchCatalog(['single-5', 'json']),
    durable: true,
  });
  if (sotto === undefined) return noRedis();
  const { service, account } = sotto;
  const minting = new Load({
    origin: new URL(service.controlUrl).origin,
    path: '/v1/inference/tickets',
    headers: () => ({ authorization: `Bearer ${account.inferenceKey}` }),
    model: (name) => `bench/${name}`,
    body: (name) => JSON.stringify({ model: `bench/${name}`, ...(together > 1 ? { count: together } : {}) }),
  });
  let together = 1;
  const byKey = new Load(sotto.contender('key').target);
  const warm = sotto.contender('ticket');
  const byWarm = new Load(warm.target);
  let fetched = '';
  const byCold = new Load({ ...warm.target, headers: () => ({ 'x-router-ticket': fetched }) });
  const rounds = quick ? 200 : 1500;
  const taken = { key: [] as number[], warm: [] as number[], cold: [] as number[] };
  await warm.prepare?.(rounds + 100, 'single-5');
  for (let round = -100; round < rounds; round += 1) {
    const key = (await byKey.request('single-5', true)).firstByteMs;
    const ready = (await byWarm.request('single-5', true)).firstByteMs;
    const startedAt = performance.now();
    const { ticket } = await service.mintTicket(account.inferenceKey, { model: 'bench/single-5' });
    const fetchedMs = performance.now() - startedAt;
    fetched = ticket;
    const cold = (await byCold.request('single-5', true)).firstByteMs + fetchedMs;
    if (round < 0) continue;
    taken.key.push(key);
    taken.warm.push(ready);
    taken.cold.push(cold);
  }
  const burst = { model: 'single-5', stream: false, count: quick ? 1000 : 4000, connections: 32 } as const;
  await minting.closedLoop(burst);
  const before = cpuMicroseconds([service.control.pid]);
  const perSecond = await minting.closedLoop(burst);
  const mintUs = (cpuMicroseconds([service.control.pid]) - before) / burst.count;
  together = maxTicketsTogether;
  const beforeAll = cpuMicroseconds([service.control.pid]);
  const requests = Math.floor(burst.count / 16);
  await minting.closedLoop({ ...burst, count: requests });
  const togetherUs = (cpuMicroseconds([service.control.pid]) - beforeAll) / (requests * together);
  const ofRedis = (contender: Contender, name: string): Contender => ({
    ...contender,
    name,
    pids: () => (sotto.pids.redis === undefined ? [] : [sotto.pids.redis]),
  });
  const plain = await startPassThrough(`http://127.0.0.1:${provider.port}/v1`, 'redis', sotto.redisUrl);
  const askers = [ofRedis(warm, 'private flow'), ofRedis(plain, plain.name)];
  const meter = new CostMeter();
  const atConnections = [4, 32, 128];
  const redisCosts: number[][] = askers.map(() => []);
  for (const connections of atConnections) {
    const costs: number[][] = askers.map(() => []);
    for (let round = 0; round < (quick ? 2 : 7); round += 1) {
      for (const [at, asker] of askers.entries()) {
        const load = { model: 'json', stream: false, count: quick ? 1000 : 3000, connections } as const;
        costs[at]?.push((await meter.measure(asker, load)).cpuUs);
      }
    }
    for (const [at, own] of costs.entries()) redisCosts[at]?.push(median(own));
  }
  const plainCosts: number[] = [];
  for (let round = 0; round < (quick ? 2 : 7); round += 1) {
    const load = { model: 'json', stream: false, count: quick ? 1000 : 3000, connections: 32 } as const;
    plainCosts.push((await meter.measure(plain, load)).cpuUs);
  }
  const timesPlain = (redisCosts[0]?.[1] ?? Number.NaN) / (redisCosts[1]?.[1] ?? Number.NaN);
  await meter.close();
  await plain.stop();
  for (const load of [minting, byKey, byWarm, byCold]) await load.close();
  await sotto.stop();
  await end(provider.child);
  const row = (name: string, times: readonly number[]): string[] => [
    name,
    figure(percentile(times, 50), 2),
    figure(percentile(times, 99), 2),
  ];
  return {
    title: 'Tickets',
    method: `Streams, one at a time and in turns. Minting a ticket takes ${figure(mintUs)} µs of control's CPU, and one of sixteen in a request ${figure(togetherUs)} µs. With 32 connections control mints ${figure(perSecond)} single tickets per second. A private request takes two calls of Redis, which writes to disk before it answers. Calls of one turn of the event loop travel together, so many at a time cost less each. The figures of Redis are without minting and booking.`,
    tables: [
      {
        caption: 'Time to the first byte in ms',
        head: ['', 'p50', 'p99'],
        rows: [
          row('by key', taken.key),
          row('by a ticket fetched ahead (warm)', taken.warm),
          row('by a ticket fetched first (cold)', taken.cold),
        ],
      },
      {
        caption: 'CPU of Redis for one request, in µs',
        head: ['', ...atConnections.map((connections) => `${connections} at a time`)],
        rows: askers.map(({ name }, at) => [name, ...(redisCosts[at] ?? []).map((cost) => figure(cost))]),
      },
    ],
    promises: [
      {
        what: 'CPU of Redis per request, 32 at a time, relative to a pass-through with the same Redis calls',
        ...{ atMost: 1.5, measured: timesPlain, unit: '×' },
        because: 'two writes to disk are most of it, and whoever holds money before a request pays them.',
      },
      {
        what: 'CPU of control for a ticket, relative to a request of a pass-through with the same Redis calls',
        ...{ atMost: 2, measured: mintUs / median(plainCosts), unit: '×' },
        because: 'half of it is HTTP, and a client that asks for sixteen at once pays a third.',
      },
    ],
  };
};
