import { readdirSync, readFileSync } from 'node:fs';
import { lapseLeases } from '../../../kit/redis-holds.ts';
import { until } from '../../../kit/service.ts';
import { withRedis } from '../../../money/world.ts';
import type { Rig } from '../rig.ts';
import { type Fault, type Outcome, refused, served } from './fault.ts';

/** A process and its children: of Postgres, each connection is one. */
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
      // Gone meanwhile.
    }
  }
}

/** What was under way may have run out of time, or its providers seem to. */
const late: readonly Outcome[] = [
  ...refused,
  'cut',
  '502 provider_error',
  '503 provider_fallback_exhausted',
  '504 provider_timeout',
];

const stop = (pidOf: (rig: Rig) => number | undefined) => ({
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
      // Nobody else holds anything: its leases need not be waited for.
      await withRedis(service.redisUrl ?? '', lapseLeases).catch(() => {});
      await service.broker.restart();
    },
    outcomes: { compat: [...refused, 'cut', 'none'], ticket: [...refused, 'cut', 'none'] },
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
    // What was under way comes to its end; who comes then finds nobody, as long as there is no second broker.
    outcomes: { compat: [...refused, 'none'], ticket: [...refused, 'none'] },
    ready: { broker: false, control: true },
  },
  {
    name: 'the broker hangs',
    to: 'broker',
    lastsMs: 2000,
    ...stop(({ service }) => service.broker.pid),
    outcomes: {
      compat: late,
      ticket: late,
    },
    ready: { broker: false, control: true },
  },
  {
    name: 'the broker hangs until its holds are reaped',
    to: 'broker',
    lastsMs: 0,
    async begin(rig) {
      signal([rig.service.broker.pid], 'SIGSTOP');
      await withRedis(rig.service.redisUrl ?? '', async (redis) => {
        await until(async () => (await lapseLeases(redis)) === 0, 'the holds are reaped', 10_000);
      });
    },
    end: async ({ service }) => signal([service.broker.pid], 'SIGCONT'),
    outcomes: {
      compat: late,
      ticket: late,
    },
    ready: { broker: false, control: true },
  },
  {
    name: 'control is killed',
    to: 'control',
    lastsMs: 1000,
    begin: ({ service }) => service.control.kill9(),
    end: ({ service }) => service.control.restart(),
    outcomes: { compat: served, ticket: [...refused, 'none'] },
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
    outcomes: { compat: served, ticket: [...refused, 'none'] },
    ready: { broker: true, control: false },
  },
  {
    name: 'control hangs',
    to: 'control',
    lastsMs: 2500,
    ...stop(({ service }) => service.control.pid),
    outcomes: { compat: served, ticket: refused },
    ready: { broker: true, control: false },
  },
  {
    name: 'Redis is killed',
    to: 'redis',
    lastsMs: 1500,
    begin: ({ redis }) => redis.kill9(),
    end: ({ redis }) => redis.restart(),
    outcomes: { compat: refused, ticket: refused },
    ready: { broker: false, control: false },
  },
  {
    name: 'Redis hangs',
    to: 'redis',
    lastsMs: 3000,
    begin: ({ redis }) => redis.pause(),
    end: ({ redis }) => redis.resume(),
    outcomes: { compat: refused, ticket: refused },
    ready: { broker: false, control: false },
  },
  {
    name: 'Postgres is killed',
    to: 'postgres',
    lastsMs: 1500,
    begin: ({ postgres }) => postgres.kill9(),
    end: ({ postgres }) => postgres.restart(),
    outcomes: { compat: served, ticket: refused },
    ready: { broker: true, control: false },
  },
  {
    name: 'Postgres hangs',
    to: 'postgres',
    lastsMs: 6000,
    ...stop(({ postgres }) => postgres.pid),
    outcomes: { compat: served, ticket: refused },
    ready: { broker: true, control: false },
  },
];
