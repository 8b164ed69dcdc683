import { setTimeout as sleep } from 'node:timers/promises';
import { withRedis } from '@sotto/test-servers';
import { until } from '../../../kit/service.ts';
import type { Rig } from '../rig.ts';
import { type Fault, refused } from './fault.ts';
import { toRedis, weather } from './network.ts';

const outcomes = { compatibility: refused, ticket: refused };

const configure = (name: string, value: string) => (rig: Rig) =>
  withRedis(rig.redis.url, async (redis) => {
    await redis.config('SET', name, value);
  });

/** Starts a replica that has the data of the present server and follows it. */
async function startReplica(rig: Rig) {
  const replica = await rig.startRedis();
  const { hostname, port } = new URL(rig.redis.url);
  await withRedis(replica.url, async (redis) => {
    await redis.replicaof(hostname, Number(port));
    await until(async () => (await redis.info('replication')).includes('master_link_status:up'), 'the replica follows');
  });
  return replica;
}

const standAlone = (url: string): Promise<void> =>
  withRedis(url, async (redis) => {
    await redis.call('REPLICAOF', 'NO', 'ONE');
  });

export const redisFaults: readonly Fault[] = [
  {
    name: 'Redis holds its replies back for 20 s',
    to: 'redis',
    ...weather(toRedis, { replyDelayMs: 20_000 }, 4000),
    outcomes,
    ready: { broker: false, control: false },
  },
  {
    name: 'Redis becomes a replica: it can only be read',
    to: 'redis',
    lastsMs: 2000,
    // The server follows a master that does not exist, so its data stays unchanged.
    begin: (rig) =>
      withRedis(rig.redis.url, async (redis) => {
        await redis.replicaof('127.0.0.1', 1);
      }),
    end: (rig) => standAlone(rig.redis.url),
    outcomes,
    ready: { broker: false },
  },
  {
    name: 'Redis has too few replicas to write',
    to: 'redis',
    lastsMs: 2000,
    begin: configure('min-replicas-to-write', '1'),
    end: configure('min-replicas-to-write', '0'),
    outcomes,
    ready: { broker: false },
  },
  {
    name: 'Redis is out of memory',
    to: 'redis',
    lastsMs: 2500,
    begin: configure('maxmemory', '1'),
    end: configure('maxmemory', '0'),
    outcomes,
  },
  {
    name: 'Redis has no disk left for its append-only file',
    to: 'redis',
    lastsMs: 1500,
    // With `appendfsync always` Redis exits rather than confirm a write that it cannot store.
    begin: async ({ redisDisk }) => redisDisk?.fill(),
    async end({ redisDisk, redis }) {
      await redisDisk?.free();
      await redis.restart();
    },
    outcomes,
    ready: { broker: false, control: false },
    missing: ({ redisDisk }) => (redisDisk === undefined ? 'run as root where file systems may be mounted' : undefined),
  },
  {
    name: 'Redis loses everything',
    to: 'redis',
    lastsMs: 0,
    begin: ({ redis }) => redis.flush(),
    end: async () => {},
    outcomes,
  },
  {
    name: 'Redis fails over to a replica that lacks the last writes',
    to: 'redis',
    lastsMs: 1000,
    async begin(rig) {
      const replica = await startReplica(rig);
      await standAlone(replica.url);
      // The replica lacks the writes of this period.
      await sleep(400);
      const { redis } = rig;
      await redis.kill9();
      rig.moveRedis(replica);
    },
    end: async () => {},
    outcomes,
  },
  {
    name: 'Redis fails over by name: the old one stays, as a replica of the new one',
    to: 'redis',
    lastsMs: 1000,
    async begin(rig) {
      const replica = await startReplica(rig);
      const { redis } = rig;
      await standAlone(replica.url);
      const { hostname, port } = new URL(replica.url);
      await withRedis(redis.url, async (old) => {
        await old.replicaof(hostname, Number(port));
      });
      // Open connections still reach the old server, which rejects every write from now on.
      rig.moveRedis(replica);
    },
    end: async () => {},
    outcomes,
  },
];
