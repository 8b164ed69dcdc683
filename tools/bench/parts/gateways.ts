import { type Contender, end, startNode } from '../contender.ts';
import { median, percentile } from '../cpu.ts';
import { type Cost, CostMeter } from '../cpu-cost.ts';
import { startDirect, startNginx, startPassThrough, startPortkey } from '../others.ts';
import { figure, noRedis, type Part } from '../page/report.ts';
import { benchCatalog, benchRegistry, startSotto } from '../sotto.ts';

const events = 1000;
type Load = 'json' | 'one' | 'single' | 'burst' | 'few';

/** Compares all gateways between a client and the provider. */
export const gateways: Part = async ({ quick }) => {
  const bursts = {
    json: { model: 'json', stream: false, count: quick ? 1000 : 3000, connections: 32 },
    // Streams of one event and of many. The difference is the cost of the events.
    one: { model: 'single-1', stream: true, count: quick ? 500 : 1000, connections: 16 },
    single: { model: `single-${events}`, stream: true, count: quick ? 16 : 48, connections: 16 },
    burst: { model: `burst-${events}`, stream: true, count: quick ? 16 : 96, connections: 16 },
    few: { model: 'single-5', stream: true, count: quick ? 500 : 1000, connections: 32 },
  } as const;
  const provider = await startNode('./processes/provider.ts', [], false);
  const upstream = `http://127.0.0.1:${provider.port}/v1`;
  const sotto = await startSotto({
    registry: benchRegistry(upstream),
    catalog: benchCatalog(Object.values(bursts).map(({ model }) => model)),
  });
  if (sotto === undefined) return noRedis();
  const direct = startDirect(upstream);
  const floor = await startPassThrough(upstream, 'floor');
  const withRedis = await startPassThrough(upstream, 'redis', sotto.redisUrl);
  const byKey = sotto.contender('key');
  const byTicket = sotto.contender('ticket');
  const contenders: Contender[] = [floor, withRedis, await startPassThrough(upstream, 'stream-send')];
  const nginx = await startNginx(upstream).catch(() => undefined);
  const portkey = await startPortkey(upstream).catch(() => undefined);
  for (const found of [nginx, portkey]) if (found !== undefined) contenders.push(found);
  contenders.push(byKey, byTicket);

  const meter = new CostMeter();
  const costs = await meter.compare(contenders, bursts, { rounds: quick ? 3 : 11, warmUp: quick ? 1 : 8 });
  const of = (contender: Contender): Record<Load, Cost> => costs.get(contender) as Record<Load, Cost>;
  const chunk = (contender: Contender, load: 'single' | 'burst'): number =>
    (of(contender)[load].cpuUs - of(contender).one.cpuUs) / (events - 1);

  // The same rate for all: the one at which the private flow is busy half of the time.
  const { model } = bursts.few;
  const rate = await meter.halfLoad(byTicket, { model, perSecond: Math.floor(of(byTicket).few.perSecond / 4) });
  const runs = quick ? 2 : 10;
  const taken = new Map<Contender, number[][]>([direct, ...contenders].map((contender) => [contender, []]));
  for (let run = 0; run < runs; run += 1) {
    for (const own of taken.values()) own.push([]);
    for (let turn = 0; turn < 3; turn += 1) {
      for (const [contender, own] of taken) {
        own[run]?.push(...(await meter.firstBytes(contender, { model, perSecond: rate, forS: 0.5 })));
      }
    }
  }
  const inRuns = (contender: Contender, at: number): number[] =>
    (taken.get(contender) ?? []).map((times) => percentile(times, at));
  const addedInRuns = (contender: Contender, at: number): number[] => {
    const bare = inRuns(direct, at);
    return inRuns(contender, at).map((ms, run) => ms - (bare[run] ?? Number.NaN));
  };
  const first = (contender: Contender, at: number): number => median(inRuns(contender, at));
  const added = (contender: Contender, at: number): number => median(addedInRuns(contender, at));
  const range = (ms: readonly number[]): string => `${figure(Math.min(...ms), 2)} to ${figure(Math.max(...ms), 2)}`;
  /** The worst of nine in ten runs. */
  const nineOfTen = (values: readonly number[]): number => [...values].sort((a, b) => a - b).at(-2) ?? Number.NaN;

  await meter.close();
  for (const contender of contenders) await contender.stop();
  await sotto.stop();
  await end(provider.child);

  const perRequest = (contender: Contender): number => of(contender).json.cpuUs;
  const times = (contender: Contender, other: Contender): number => perRequest(contender) / perRequest(other);
  return {
    title: 'Compared with other gateways',
    method:
      'One provider on loopback answers at once. Whole answers use 32 connections, streams 16. A chunk is one event: a stream of 1,000 events minus one of a single event, divided by 999. With “20 per read” the provider sends twenty events in one write. The floor is a bare Fastify in front of undici that only parses the body; a second also makes Sotto’s two Redis calls. Portkey’s open-source gateway (1.15.2) finds the provider in headers, rewrites request and answer, and passes the caller’s key on. It has no accounts, limits, balance or metering; Sotto does all four for each request. Time to first byte is measured at the rate at which the private flow keeps its core half busy; the added time is without the provider’s. Figures are medians of ten runs of three turns; the last column is the lowest and highest. Control and Postgres use only idle cores, and finish booking before the next turn.',
    tables: [
      {
        caption: 'CPU in µs',
        head: [
          '',
          'per request',
          '× floor',
          'requests/s on one core',
          'per chunk',
          '× floor',
          'per chunk (20 per read)',
          '× floor',
        ],
        rows: contenders.map((contender) => [
          contender.name,
          figure(perRequest(contender)),
          figure(times(contender, floor), 2),
          figure(of(contender).json.perSecond),
          figure(chunk(contender, 'single'), 2),
          figure(chunk(contender, 'single') / chunk(floor, 'single'), 2),
          figure(chunk(contender, 'burst'), 2),
          figure(chunk(contender, 'burst') / chunk(floor, 'burst'), 2),
        ]),
      },
      {
        caption: `Time to first byte at ${rate} streams per second, in ms`,
        head: ['', 'p50', 'p99', 'added p50', 'added p99', 'added p50 in ten runs'],
        rows: [direct, ...contenders].map((contender) => [
          contender.name,
          figure(first(contender, 50), 2),
          figure(first(contender, 99), 2),
          figure(added(contender, 50), 2),
          figure(added(contender, 99), 2),
          range(addedInRuns(contender, 50)),
        ]),
      },
    ],
    promises: [
      {
        what: 'private flow, CPU per request, relative to a pass-through with the same Redis calls',
        atMost: 2,
        measured: times(byTicket, withRedis),
        unit: '×',
        because:
          'a gateway that holds money before it asks a provider makes these two calls. Sotto also redeems a ticket, plans routes, meters the answer, and signs a settlement and a receipt.',
      },
      {
        what: 'compatibility mode, CPU per request, relative to a pass-through with the same Redis calls',
        atMost: 1.75,
        measured: times(byKey, withRedis),
        unit: '×',
      },
      {
        what: 'CPU per streamed chunk, relative to the floor',
        atMost: 1.2,
        measured: median([byKey, byTicket].map((one) => chunk(one, 'single'))) / chunk(floor, 'single'),
        unit: '×',
      },
      ...(portkey === undefined
        ? []
        : [
            {
              what: 'CPU per request, relative to Portkey’s gateway',
              atMost: 0.5,
              measured: times(byTicket, portkey),
              unit: '×',
              because: 'Sotto also holds, meters and settles money for each request, and Portkey’s gateway does not.',
            },
          ]),
      {
        what: 'added time to first byte, p50, in nine of ten runs',
        atMost: 1.2,
        measured: nineOfTen(addedInRuns(byTicket, 50)),
        unit: 'ms',
        because:
          'before a provider is asked, Redis has written the hold to its disk. The pass-through waits for the same write.',
      },
      {
        what: 'time to first byte, p99, relative to a pass-through with the same Redis calls',
        atMost: 3,
        measured: first(byTicket, 99) / first(withRedis, 99),
        unit: '×',
        because:
          'at this rate Sotto keeps the core half busy and the pass-through a quarter. Where requests come at random, one in a hundred then waits up to four times as long.',
      },
    ],
    plots: [
      {
        kind: 'bars',
        name: 'gateways',
        title: 'CPU for one request, in µs',
        bars: contenders.map((contender) => ({
          name: contender.name,
          value: perRequest(contender),
          ours: contender === byKey || contender === byTicket,
        })),
      },
      {
        kind: 'bars',
        name: 'chunks',
        title: 'CPU for one event of a stream, in µs',
        bars: contenders.map((contender) => ({
          name: contender.name,
          value: chunk(contender, 'single'),
          ours: contender === byKey || contender === byTicket,
        })),
      },
      {
        kind: 'bars',
        name: 'latency',
        title: 'Added time to the first byte, p50 in ms',
        bars: contenders.map((contender) => ({
          name: contender.name,
          value: added(contender, 50),
          ours: contender === byKey || contender === byTicket,
        })),
      },
    ],
  };
};
