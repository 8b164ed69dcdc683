import { readdirSync, readFileSync } from 'node:fs';
import { withRedis } from '@sotto/test-servers';
import { lapseLeases } from '../../../kit/redis-holds.ts';
import { until } from '../../../kit/service.ts';
import type { Rig } from '../rig.ts';
import { both, type Fault, type Outcome, refused, served } from './fault.ts';

/** Returns a process and its children. Postgres has one child per connection. */
function familyOf(pid: number): number[] {
  const children = readdirSync('/proc').filter((name) => {
    if (!/^\d+$/.test(name)) return false;
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
      return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]) === pid;
    } catch {
      return false;
    }
  });
  return [pid, ...children.map(Number)];
}

function signal(pids: readonly number[], name: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, name);
    } catch {
      // The process has already ended.
    }
  }
}

/** A running request may time out, or its providers may seem to. */
const late: readonly Outcome[] = [
  ...refused,
  'cut',
  '502 provider_error',
  '503 provider_fallback_exhausted',
  '504 provider_timeout',
];

const stop = (pidOf: (rig: Rig) => number | undefined, lastsMs: number) => ({
  lastsMs,
  begins: 'last' as const,
  begin: async (rig: Rig) => signal(familyOf(pidOf(rig) ?? 0), 'SIGSTOP'),
  end: async (rig: Rig) => signal(familyOf(pidOf(rig) ?? 0), 'SIGCONT'),
});

export const processFaults: readonly Fault[] = [
  {
    name: 'the broker is killed',
    to: 'broker',
    lastsMs: 500,
    begin: ({ service }) => service.broker.kill9(),
    async end({ service }) {
      // No other process has holds, so the test can expire all leases instead of waiting.
      await withRedis(service.redisUrl ?? '', lapseLeases).catch(() => {});
      await service.broker.restart();
    },
    ...both(...refused, 'cut', 'none'),
    ready: { broker: false, control: true },
    brokerDies: true,
  },
  {
    name: 'the broker is restarted',
    to: 'broker',
    lastsMs: 500,
    async begin({ service }) {
      await service.broker.terminate();
    },
    end: ({ service }) => service.broker.restart(),
    brokerStops: true,
    // Running requests finish. New ones find no server, because there is no second broker.
    ...both(...refused, 'none'),
    ready: { broker: false, control: true },
  },
  {
    name: 'the broker hangs',
    to: 'broker',
    ...stop(({ service }) => service.broker.pid, 2000),
    ...both(...late),
    ready: { broker: false, control: true },
  },
  {
    name: 'the broker hangs until its holds are reaped',
    to: 'broker',
    lastsMs: 0,
    begins: 'first',
    async begin(rig) {
      signal([rig.service.broker.pid], 'SIGSTOP');
      await withRedis(rig.service.redisUrl ?? '', async (redis) => {
        await until(async () => (await lapseLeases(redis)) === 0, 'the holds are reaped', 10_000);
      });
    },
    end: async ({ service }) => signal([service.broker.pid], 'SIGCONT'),
    ...both(...late),
    ready: { broker: false, control: true },
  },
  {
    name: 'control is killed',
    to: 'control',
    lastsMs: 1000,
    begin: ({ service }) => service.control.kill9(),
    end: ({ service }) => service.control.restart(),
    outcomes: { compatibility: served, ticket: [...refused, 'none'] },
    ready: { broker: true, control: false },
  },
  {
    name: 'control is restarted',
    to: 'control',
    lastsMs: 500,
    async begin({ service }) {
      await service.control.terminate();
    },
    end: ({ service }) => service.control.restart(),
    outcomes: { compatibility: served, ticket: [...refused, 'none'] },
    ready: { broker: true, control: false },
  },
  {
    name: 'control hangs',
    to: 'control',
    ...stop(({ service }) => service.control.pid, 2500),
    outcomes: { compatibility: served, ticket: refused },
    ready: { broker: true, control: false },
  },
  {
    name: 'Redis is killed',
    to: 'redis',
    lastsMs: 1500,
    begin: ({ redis }) => redis.kill9(),
    end: ({ redis }) => redis.restart(),
    ...both(...refused),
    ready: { broker: false, control: false },
  },
  {
    name: 'Redis hangs',
    to: 'redis',
    lastsMs: 3000,
    begin: ({ redis }) => redis.pause(),
    end: ({ redis }) => redis.resume(),
    ...both(...refused),
    ready: { broker: false, control: false },
  },
  {
    name: 'Postgres is killed',
    to: 'postgres',
    lastsMs: 1500,
    begin: ({ postgres }) => postgres.kill9(),
    end: ({ postgres }) => postgres.restart(),
    outcomes: { compatibility: served, ticket: refused },
    ready: { broker: true, control: false },
  },
  {
    name: 'Postgres hangs',
    to: 'postgres',
    ...stop(({ postgres }) => postgres.pid, 6000),
    outcomes: { compatibility: served, ticket: refused },
    ready: { broker: true, control: false },
  },
];
