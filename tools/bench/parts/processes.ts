import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '@sotto/test-servers';
import { until } from '../../../test/kit/service.ts';
import { type Contender, end, launch, pin, plainTarget, startNode } from '../contender.ts';
import { cpuMicroseconds } from '../cpu.ts';
import { CostMeter } from '../cpu-cost.ts';
import { startPassThrough } from '../others.ts';
import { figure, noRedis, type Part } from '../page/report.ts';
import { benchCatalog, benchRegistry, startSotto } from '../sotto.ts';

/** Several brokers: on one port of one host, and on two hosts behind a TCP balancer. */
export const processes: Part = async ({ quick }) => {
  const provider = await startNode('./processes/provider.ts', [], false);
  const upstream = `http://127.0.0.1:${provider.port}/v1`;
  const sotto = await startSotto({
    registry: benchRegistry(upstream),
    catalog: benchCatalog(['json']),
    environment: { CONFIDENTIAL_SHARE_PORT: 'on' },
  });
  if (sotto === undefined) return noRedis();
  const { service } = sotto;
  const alone = sotto.contender('ticket', { name: 'one broker' });
  const second = await service.addBroker();
  const third = await service.addBroker();
  for (const { process: broker } of [second, third]) pin(broker.pid);
  const pair = [second.process.pid, third.process.pid];
  // A balancer makes requests arrive more evenly, so that each turn of an event loop does less. So one broker behind it
  // is the baseline.
  const single = await startBalancer([service.baseUrl]);
  const balancer = await startBalancer([second.baseUrl, third.baseUrl]);
  // The loss that two processes on one core always have, because they share its caches.
  const bare = await Promise.all([0, 1, 2].map(() => startPassThrough(upstream, 'floor')));
  const [first, ...others] = bare.map(({ target }) => target.origin);
  const bareSingle = await startBalancer([first ?? '']);
  const barePair = await startBalancer(others);
  const contenders: Contender[] = [alone];
  if (single !== undefined && balancer !== undefined && bareSingle !== undefined && barePair !== undefined) {
    const throughBalancer = (name: string, { origin }: Balancer, behind: readonly Contender[]): Contender => ({
      name,
      target: plainTarget(origin),
      pids: () => behind.flatMap((each) => each.pids()),
      stop: async () => {},
    });
    contenders.push(
      sotto.contender('ticket', { name: 'one broker behind HAProxy (TCP)', origin: single.origin }),
      sotto.contender('ticket', {
        name: 'two brokers behind HAProxy (TCP)',
        origin: balancer.origin,
        pids: () => pair,
      }),
      throughBalancer('one pass-through behind HAProxy (TCP)', bareSingle, bare.slice(0, 1)),
      throughBalancer('two pass-throughs behind HAProxy (TCP)', barePair, bare.slice(1)),
    );
  }
  const burst = { model: 'json', stream: false, count: quick ? 1000 : 3000, connections: 32 } as const;
  // Each broker gets the same number of connections. With fewer, each turn of the event loop does less, and a request
  // costs more.
  const double = { ...burst, count: burst.count * 2, connections: burst.connections * 2 };
  const meter = new CostMeter();
  const schedule = { rounds: quick ? 3 : 11, warmUp: quick ? 1 : 8 };
  const apart = await meter.compare(contenders, { one: burst, two: double }, schedule);

  // A fourth broker takes the port of the first. From here on, `alone` gets no requests.
  const sharing = await service.addBroker({ port: Number(new URL(service.baseUrl).port) });
  pin(sharing.process.pid);
  await until(() => allReady(service.baseUrl), 'both brokers of the port are ready');
  const both = [service.broker.pid, sharing.process.pid];
  const shared = sotto.contender('ticket', { name: 'two brokers sharing a port', pids: () => both });
  const control = sotto.contender('ticket', {
    name: 'one broker',
    origin: new URL(second.baseUrl).origin,
    pids: () => [second.process.pid],
  });
  const beside = await meter.compare([control, shared], { one: burst, two: double }, schedule);
  const before = both.map((pid) => cpuMicroseconds([pid]));
  await meter.measure(shared, double);
  const [one = 0, other = 0] = both.map((pid, at) => cpuMicroseconds([pid]) - (before[at] ?? 0));
  await meter.close();
  for (const each of [single, balancer, bareSingle, barePair]) await each?.stop();
  for (const each of bare) await each.stop();
  await sotto.stop();
  await end(provider.child);

  const cost = (found: typeof apart, contender: Contender): number => {
    const brokers = contender.pids().length === 2 ? 'two' : 'one';
    return found.get(contender)?.[brokers].cpuUs ?? Number.NaN;
  };
  const [, behind = alone, balanced, bareBehind, bareBalanced] = contenders;
  const hasBare = bareBehind !== undefined && bareBalanced !== undefined;
  const rows = [
    { contender: alone, found: apart, base: alone },
    { contender: shared, found: beside, base: control },
    ...(balanced === undefined
      ? []
      : [
          { contender: behind, found: apart, base: behind },
          { contender: balanced, found: apart, base: behind },
        ]),
    ...(hasBare
      ? [
          { contender: bareBehind, found: apart, base: bareBehind },
          { contender: bareBalanced, found: apart, base: bareBehind },
        ]
      : []),
  ].map(({ contender, found, base }) => ({
    name: contender.name,
    cpu: cost(found, contender),
    base: base === contender ? undefined : base.name,
    ratio: cost(found, contender) / cost(found, base),
  }));
  return {
    title: 'Several brokers',
    method: `The private flow, with 32 connections for each broker. All brokers share one core. Two processes on one core always lose some time; two bare pass-throughs show how much. With \`CONFIDENTIAL_SHARE_PORT=on\` the kernel spreads connections over the processes of a host (SO_REUSEPORT). In the last round they did ${Math.round((100 * one) / (one + other))} and ${Math.round((100 * other) / (one + other))} % of the work.`,
    tables: [
      {
        caption: 'CPU of all brokers together',
        head: ['', 'µs per request', 'relative to one broker, reached in the same way in the same run'],
        rows: rows.map(({ name, cpu, base, ratio }) => [
          name,
          figure(cpu),
          base === undefined ? '' : `${figure(ratio, 2)} ×`,
        ]),
      },
    ],
    promises: [
      ...rows.flatMap(({ name, base, ratio }) =>
        base === undefined || name === bareBalanced?.name
          ? []
          : [
              {
                ...{ what: `${name}, CPU per request, relative to ${base}`, atMost: 1.25, measured: ratio, unit: '×' },
                because: 'calls of Redis travel together, and two brokers have half as many each.',
              },
            ],
      ),
      ...(balanced !== undefined && hasBare
        ? [
            {
              what: 'two brokers relative to one, compared with two bare pass-throughs relative to one, all behind HAProxy',
              atMost: 1.3,
              because: 'a bare pass-through makes no calls that could travel together.',
              measured:
                cost(apart, balanced) / cost(apart, behind) / (cost(apart, bareBalanced) / cost(apart, bareBehind)),
              unit: '×',
            },
          ]
        : []),
    ],
  };
};

/** Whether every process on a port is ready. It uses new connections, so that it reaches each process. */
async function allReady(baseUrl: string): Promise<boolean> {
  const url = `${new URL(baseUrl).origin}/readyz`;
  const asked = Array.from({ length: 50 }, () => fetch(url, { headers: { connection: 'close' } }));
  return (await Promise.all(asked)).every(({ ok }) => ok);
}

interface Balancer {
  readonly origin: string;
  stop(): Promise<void>;
}

/** HAProxy balancing TCP connections in turn, if it is on the PATH. */
async function startBalancer(urls: readonly string[]): Promise<Balancer | undefined> {
  if (spawnSync('haproxy', ['-v']).error !== undefined) {
    console.log('HAProxy is left out: there is none. Install haproxy and run again.');
    return undefined;
  }
  const folder = mkdtempSync(join(tmpdir(), 'sotto-bench-haproxy-'));
  const port = await freePort();
  writeFileSync(
    join(folder, 'haproxy.cfg'),
    `defaults
  mode tcp
  timeout connect 5s
  timeout client 60s
  timeout server 60s
frontend in
  bind 127.0.0.1:${port}
  default_backend brokers
backend brokers
  balance roundrobin
${urls.map((url, at) => `  server broker-${at} ${new URL(url).host}`).join('\n')}
`,
  );
  const child = launch(['haproxy', '-f', join(folder, 'haproxy.cfg')], { pinned: false });
  const origin = `http://127.0.0.1:${port}`;
  await until(async () => (await fetch(`${origin}/healthz`)).status < 500, 'HAProxy listens');
  return {
    origin,
    async stop() {
      await end(child);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
