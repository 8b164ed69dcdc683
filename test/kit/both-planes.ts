import { afterAll, beforeAll, describe } from 'vitest';
import { type OwnPostgres, startOwnPostgres, startTestPostgres } from './postgres.ts';
import { type Standby, startStandby } from './postgres-standby.ts';
import { redisSkipReason, startOwnRedis, startTestRedis } from './redis.ts';
import { type Service, type ServiceOptions, startService } from './service.ts';
import { noteSkip } from './skips.ts';
import { isThorough } from './thorough.ts';

export interface Planes {
  /** The running service; only within tests and hooks. */
  readonly service: Service;
}

/** What a suite runs against, made anew for each way the planes run. */
export interface PlanesSetup
  extends Pick<
    ServiceOptions,
    'registry' | 'catalog' | 'environment' | 'brokerEnvironment' | 'enclaves' | 'controlHost'
  > {
  stop?(): Promise<void>;
}

/**
 * How the service runs: embedded (one process, state in memory), as two processes on a real Redis, or as two on a Redis
 * Cluster of three with a standby that every commit waits for. Postgres is real in all.
 */
export type Topology = 'one' | 'two' | 'cluster';

const titles: Readonly<Record<Topology, string>> = {
  one: 'embedded',
  two: 'two processes',
  cluster: 'two processes on a Redis Cluster and a Postgres with a standby',
};

/**
 * Runs a suite against the real service as two processes; embedded where there is no Redis. A thorough run
 * has it in every topology that `planes` names. To be awaited at the top level of a test file.
 */
export async function describeInBothPlanes(
  name: string,
  setup: () => Promise<PlanesSetup>,
  tests: (planes: Planes, which: 'one' | 'two') => void,
  options: { readonly planes?: readonly Topology[] } = {},
): Promise<void> {
  const { planes = ['two', 'one'] } = options;
  for (const which of planes) {
    const kind = which === 'one' ? 'one' : 'two';
    const title = `${name} (${titles[which]})`;
    // Before the suite is told of: whether there is a Redis decides whether there is a suite.
    const surroundings = await surroundingsOf[which]();
    if (surroundings === undefined) {
      noteSkip(`what needs ${titles[which]}`, redisSkipReason);
      describe.skip(title, () =>
        tests(
          runningPlanes(() => undefined),
          kind,
        ),
      );
      continue;
    }
    describe(title, () => {
      let made: PlanesSetup | undefined;
      let service: Service | undefined;

      beforeAll(async () => {
        const databaseUrl = await surroundings.start();
        made = await setup();
        const { stop: _, ...options } = made;
        service = await startService({ ...options, planes: kind, databaseUrl, redisUrl: surroundings.redisUrl });
      });
      afterAll(async () => {
        await service?.stop();
        await made?.stop?.();
        await surroundings.stop();
      });
      tests(
        runningPlanes(() => service),
        kind,
      );
    });
    if (!isThorough) return;
  }
}

const runningPlanes = (running: () => Service | undefined): Planes => ({
  get service() {
    const service = running();
    if (service === undefined) throw new Error('the service runs within tests and hooks only');
    return service;
  },
});

/** The servers that a service of two processes needs. */
interface Surroundings {
  readonly redisUrl: string | undefined;
  /** Starts what is not started yet; resolves to the URL of an empty database. */
  start(): Promise<string>;
  stop(): Promise<void>;
}

/** What each topology runs on; undefined where this machine has no Redis. */
const surroundingsOf: Readonly<Record<Topology, () => Promise<Surroundings | undefined>>> = {
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
