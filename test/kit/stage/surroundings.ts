import { startOwnRedis, startTestPostgres, startTestRedis } from '@sotto/test-servers';
import { type OwnPostgres, type Standby, startOwnPostgres, startStandby } from '../postgres.ts';
import type { Topology } from '../topologies.ts';

/** The servers that a service of two processes needs. */
interface Surroundings {
  readonly redisUrl: string | undefined;
  /** Starts the servers that do not run yet. Resolves to the URL of an empty database. */
  start(): Promise<string>;
  stop(): Promise<void>;
}

/** The servers of each topology. Undefined if this machine has no Redis. */
export const surroundingsOf: Readonly<Record<Topology, () => Promise<Surroundings | undefined>>> = {
  one: async () => {
    const postgres = await startTestPostgres();
    return { redisUrl: undefined, start: () => postgres.createDatabase(), stop: () => postgres.stop() };
  },
  two: async () => {
    const redis = await startTestRedis();
    if (redis === undefined) return undefined;
    const postgres = await startTestPostgres();
    return {
      redisUrl: redis.url,
      start: () => postgres.createDatabase(),
      stop: async () => {
        await redis.stop();
        await postgres.stop();
      },
    };
  },
  cluster: async () => {
    const redis = await startOwnRedis({ cluster: true });
    if (redis === undefined) return undefined;
    let postgres: OwnPostgres | undefined;
    let standby: Standby | undefined;
    return {
      redisUrl: redis.url,
      start: async () => {
        postgres = await startOwnPostgres({ durability: 'full' });
        standby = await startStandby(postgres);
        return postgres.createDatabase();
      },
      stop: async () => {
        await redis.stop();
        await postgres?.stop();
        await standby?.stop();
      },
    };
  },
};
