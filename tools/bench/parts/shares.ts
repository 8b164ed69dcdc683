import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from '../../../test/kit/service.ts';
import { end, startNode } from '../contender.ts';
import { cpuMicroseconds } from '../cpu.ts';
import { type Profile, sharesOf } from '../cpu-shares.ts';
import { Load } from '../load.ts';
import { figure, noRedis, type Part } from '../page/report.ts';
import { commandsOf, perRequest } from '../redis-commands.ts';
import { benchCatalog, benchRegistry, type Flow, startSotto } from '../sotto.ts';

/** Measures what a request costs the broker by what it does, from a profile, and what it costs Redis by command. */
export const shares: Part = async ({ quick }) => {
  const folder = mkdtempSync(join(tmpdir(), 'sotto-bench-'));
  const file = join(folder, 'profile');
  const hook = new URL(`../processes/profiled.ts?to=${encodeURIComponent(file)}`, import.meta.url).href;
  const provider = await startNode('./processes/provider.ts', [], false);
  const sotto = await startSotto({
    registry: benchRegistry(`http://127.0.0.1:${provider.port}/v1`),
    catalog: benchCatalog(['json']),
    // A bundle would not tell which source a function is from.
    bundled: false,
    brokerFlags: [`--import=${hook}`],
  });
  if (sotto === undefined) return noRedis();
  const burst = { model: 'json', stream: false, count: quick ? 2000 : 20_000, connections: 32 } as const;
  const { broker } = sotto.service;
  const measure = async (flow: Flow) => {
    const contender = sotto.contender(flow);
    const load = new Load(contender.target);
    await contender.prepare?.(burst.count, burst.model);
    await load.closedLoop(burst);
    await contender.rest?.();
    await contender.prepare?.(burst.count, burst.model);
    const pids = { broker: [broker.pid], redis: sotto.pids.redis === undefined ? [] : [sotto.pids.redis] };
    const [commands, inBroker, inRedis] = [
      await commandsOf(sotto.redisUrl),
      cpuMicroseconds(pids.broker),
      cpuMicroseconds(pids.redis),
    ];
    process.kill(broker.pid, 'SIGUSR2');
    await until(async () => existsSync(`${file}.begun`), 'the profile has begun');
    await load.closedLoop(burst);
    const us = (cpuMicroseconds(pids.broker) - inBroker) / burst.count;
    process.kill(broker.pid, 'SIGUSR2');
    await until(async () => existsSync(file), 'the profile is written');
    await contender.rest?.();
    const redisUs = (cpuMicroseconds(pids.redis) - inRedis) / burst.count;
    const used = perRequest(commands, await commandsOf(sotto.redisUrl), burst.count);
    const found = { us, redisUs, used, shares: sharesOf(JSON.parse(readFileSync(file, 'utf8')) as Profile) };
    rmSync(file);
    rmSync(`${file}.begun`);
    await load.close();
    return found;
  };
  const key = await measure('key');
  const ticket = await measure('ticket');
  await sotto.stop();
  await end(provider.child);
  rmSync(folder, { recursive: true });
  const ofTicket = new Map(ticket.shares);
  const usedByTicket = new Map(ticket.used);
  return {
    title: 'What a request pays for',
    method: `Whole answers of 32 connections, after ${burst.count} others. The broker runs from its sources with a profiler, which samples every 0.2 ms and itself costs CPU: by key ${figure(key.us)} µs, by ticket ${figure(ticket.us)} µs a request. Redis uses ${figure(key.redisUs)} and ${figure(ticket.redisUs)} µs, with what control books. It spends them on these commands and, for the rest, on sockets. The time of a script (\`evalsha\`) has that of its commands.`,
    tables: [
      {
        caption: 'CPU of the broker for one request, in µs',
        head: ['', 'by key', 'by ticket'],
        rows: key.shares.map(([part, share]) => [
          part,
          figure(share * key.us, 1),
          figure((ofTicket.get(part) ?? 0) * ticket.us, 1),
        ]),
      },
      {
        caption: 'Redis for one request',
        head: ['', 'calls, by key', 'µs, by key', 'calls, by ticket', 'µs, by ticket'],
        rows: key.used.map(([command, { calls, us }]) => {
          const other = usedByTicket.get(command);
          return [command, figure(calls, 2), figure(us, 1), figure(other?.calls ?? 0, 2), figure(other?.us ?? 0, 1)];
        }),
      },
    ],
    promises: [],
  };
};
