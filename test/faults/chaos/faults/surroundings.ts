import { closeSync, openSync } from 'node:fs';
import type { Rig } from '../rig.ts';
import { both, type Fault, refused, served, unavailable } from './fault.ts';

const hourS = 3600;

/** Sets the clocks of both planes, and that of Redis. */
function set(rig: Rig, { planes, redis }: { planes?: number; redis?: number }): void {
  if (planes !== undefined) rig.clocks.setNode(planes);
  if (redis !== undefined) rig.clocks.setNative(redis);
}

const step = (ahead: { planes?: number; redis?: number }) => ({
  to: 'clocks' as const,
  lastsMs: 2000,
  begin: async (rig: Rig) => set(rig, ahead),
  end: async (rig: Rig) => set(rig, { planes: 0, redis: 0 }),
  // Only the clock of Redis decides when a ticket expires. If it steps ahead, tickets expire and their holders need new
  // ones.
  outcomes: {
    compatibility: refused,
    ticket: ahead.redis === undefined ? refused : [...refused, '401 invalid_ticket' as const],
  },
  missing: ({ clocks }: Rig) => (clocks.native === undefined ? 'install a C compiler' : undefined),
});

const stall = (plane: 'broker' | 'control') => ({
  to: 'logs' as const,
  lastsMs: 3000,
  begin: (rig: Rig) => rig.logs[plane].stall(),
  end: async (rig: Rig) => rig.logs[plane].readOn(),
  ...both(...served),
  ready: { broker: true, control: true },
});

const fullDisk = new WeakMap<Rig, number>();

const startOnFullDisk = (plane: 'broker' | 'control') => ({
  to: plane,
  lastsMs: 2000,
  async begin(rig: Rig) {
    const fd = openSync('/dev/full', 'w');
    fullDisk.set(rig, fd);
    rig.logTo(plane, fd);
    await rig.service[plane].terminate();
    rig.service[plane].start();
  },
  async end(rig: Rig) {
    rig.logTo(plane, undefined);
    closeSync(fullDisk.get(rig) ?? -1);
    await rig.service[plane].terminate();
    await rig.service[plane].restart();
  },
  // The process becomes ready although it cannot write its log.
  ready: { broker: true, control: true },
});

export const surroundingFaults: readonly Fault[] = [
  {
    name: 'no name resolves, and all connections break',
    to: 'names',
    lastsMs: 2500,
    async begin({ names, lines }) {
      names?.resolve(false);
      for (const line of [lines.brokerToRedis, lines.controlToRedis, lines.controlToPostgres, ...lines.toProviders])
        line.cut();
    },
    end: async ({ names }) => names?.resolve(true),
    ...both(...refused, 'cut', '503 provider_fallback_exhausted'),
    ready: { broker: false, control: false },
    missing: ({ names }) => (names === undefined ? 'run as root where mount namespaces may be made' : undefined),
  },
  {
    name: 'the name of no provider resolves',
    to: 'names',
    lastsMs: 2500,
    async begin({ names, lines }) {
      names?.resolve(false);
      for (const line of lines.toProviders) line.cut();
    },
    end: async ({ names }) => names?.resolve(true),
    ...both('answered', 'cut', '502 provider_error', '503 provider_fallback_exhausted', unavailable),
    missing: ({ names }) => (names === undefined ? 'run as root where mount namespaces may be made' : undefined),
  },
  // Together with a Redis outage this once lost a charge. A settlement that failed while the clock was ahead got a
  // retry time by that clock. After the clock was set back, the broker kept the settlement for an hour, and its hold
  // stayed open.
  { name: 'every clock steps ahead by an hour', ...step({ planes: hourS, redis: hourS }) },
  { name: 'every clock steps back by an hour', ...step({ planes: -hourS, redis: -hourS }) },
  { name: 'the clocks of the planes step ahead by an hour', ...step({ planes: hourS }) },
  { name: 'the clocks of the planes step back by an hour', ...step({ planes: -hourS }) },
  { name: 'the clock of Redis steps ahead by an hour', ...step({ redis: hourS }) },
  { name: 'the clock of Redis steps back by an hour', ...step({ redis: -hourS }) },
  { name: 'nobody reads what the broker logs', ...stall('broker') },
  { name: 'nobody reads what control logs', ...stall('control') },
  {
    name: 'the broker starts while the disk for its log is full',
    ...startOnFullDisk('broker'),
    ...both(...refused, 'none'),
    brokerStops: true,
  },
  {
    name: 'control starts while the disk for its log is full',
    ...startOnFullDisk('control'),
    outcomes: { compatibility: served, ticket: [...refused, 'none'] },
  },
];
