import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { startOwnRedis } from '@sotto/test-servers';
import { setup as bundlePrograms } from '../../../test/kit/bundles.ts';
import { startOwnPostgres } from '../../../test/kit/postgres.ts';
import { startService } from '../../../test/kit/service.ts';
import { cpuMicroseconds, familyMicroseconds, residentMiB } from '../cpu.ts';
import { figure, noRedis, type Part } from '../page/report.ts';
import { benchCatalog, benchRegistry } from '../sotto.ts';

const restMs = 60_000;
const idleMs = 60_000;
const nowhere = 'http://127.0.0.1:9/v1';

/** What one process used while nobody asked. */
interface Idle {
  readonly name: string;
  /** Percent of a core. */
  readonly percent: number;
  readonly residentMiB: number;
}

/** Measures what a service uses while nobody asks it, a minute after its start. */
export const idle: Part = async ({ quick }) => {
  await bundlePrograms();
  const served = { registry: benchRegistry(nowhere), catalog: benchCatalog(['json']) };
  const [rest, watch] = quick ? [restMs / 4, idleMs / 4] : [restMs, idleMs];

  const redis = await startOwnRedis({ appendOnly: true });
  if (redis === undefined) return noRedis();
  // Each has its own, because its work between requests is part of the figure.
  const [postgresOfOne, postgresOfTwo] = [await startOwnPostgres(), await startOwnPostgres()];
  const alone = await startService({ planes: 'one', databaseUrl: await postgresOfOne.createDatabase(), ...served });
  const apart = await startService({
    planes: 'two',
    databaseUrl: await postgresOfTwo.createDatabase(),
    redisUrl: redis.url,
    ...served,
  });
  await alone.createAccount();
  await apart.createAccount();
  await sleep(rest);
  const one = watchOf({ Node: () => node(alone.broker.pid), Postgres: () => family(postgresOfOne.pid) });
  const two = watchOf({
    broker: () => node(apart.broker.pid),
    control: () => node(apart.control.pid),
    Redis: () => node(redis.pid ?? 0),
    Postgres: () => family(postgresOfTwo.pid),
  });
  await sleep(watch);
  const [ofOne, ofTwo] = [one(), two()];
  const calls = await callsWithin(redis.url, watch / 2);
  const perSecond = calls / (watch / 2000);
  await alone.stop();
  await apart.stop();
  await redis.stop();
  await postgresOfOne.stop();
  await postgresOfTwo.stop();
  const sum = (found: readonly Idle[]): number => found.reduce((total, { percent }) => total + percent, 0);
  return {
    title: 'Idle',
    method: `Nobody asks. From ${rest / 1000} seconds after the start, for ${watch / 1000} seconds; both services run side by side.`,
    tables: [
      {
        caption: '',
        head: ['', '% of a core', 'resident, MiB'],
        rows: [
          ...ofOne.map(({ name, percent, residentMiB }) => [
            `\`npm start\`: ${name}`,
            figure(percent, 2),
            figure(residentMiB),
          ]),
          ...ofTwo.map(({ name, percent, residentMiB }) => [
            `with Redis: ${name}`,
            figure(percent, 2),
            figure(residentMiB),
          ]),
          ['calls of Redis per second', figure(perSecond, 1), ''],
        ],
      },
    ],
    promises: [
      { what: 'idle: `npm start`, all processes', atMost: 0.5, measured: sum(ofOne), unit: '% of a core' },
      {
        ...{ what: 'idle: with Redis, all processes', atMost: 1.5, measured: sum(ofTwo), unit: '% of a core' },
        because:
          'each plane renews its leases in Redis once a second, and so finds within a second that a replica lacks what it wrote.',
      },
      { what: 'idle: calls of Redis per second', atMost: 10, measured: perSecond, unit: '' },
    ],
  };
};

interface Use {
  readonly cpuUs: number;
  readonly residentMiB: number;
}

const node = (pid: number): Use => ({ cpuUs: cpuMicroseconds([pid]), residentMiB: residentMiB([pid]) });
const family = (pid: number): Use => ({ cpuUs: familyMicroseconds(pid), residentMiB: residentMiB([pid]) });

/** Begins to watch processes. The function that it returns says what they used since. */
function watchOf(processes: Readonly<Record<string, () => Use>>): () => readonly Idle[] {
  const begun = performance.now();
  const before = Object.values(processes).map((use) => use().cpuUs);
  return () =>
    Object.entries(processes).map(([name, use], at) => {
      const { cpuUs, residentMiB } = use();
      return {
        name,
        percent: ((cpuUs - (before[at] ?? 0)) / 1000 / (performance.now() - begun)) * 100,
        residentMiB,
      };
    });
}

/**
 * Counts what clients ask of a server for a time. Commands within scripts do not count. It reads MONITOR's lines itself, because
 * ioredis takes a line that comes with the reply to MONITOR for the reply of another command.
 */
async function callsWithin(url: string, ms: number): Promise<number> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.write('MONITOR\r\n');
  let text = '';
  socket.setEncoding('latin1').on('data', (part: string) => {
    text += part;
  });
  await sleep(ms);
  socket.destroy();
  return text.split('\r\n').filter((line) => /^\+\d/.test(line) && !/^\+[\d.]+ \[\d+ lua\]/.test(line)).length;
}
