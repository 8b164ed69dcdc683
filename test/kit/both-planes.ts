import { afterAll, beforeAll, describe } from 'vitest';
import { type OwnPostgres, startTestPostgres, type TestPostgres } from './postgres.ts';
import { type Standby, startStandby } from './postgres-standby.ts';
import { redisSkipReason, startTestRedis } from './redis.ts';
import { type Service, type ServiceOptions, startService } from './service.ts';
import { noteSkip } from './skips.ts';

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

/** How the service runs. */
export type Topology = 'one' | 'two' | 'cluster';

const titles: Readonly<Record<Topology, string>> = {
  one: 'embedded',
  two: 'two processes',
  cluster: 'two processes on a Redis Cluster and a Postgres with a standby',
};

/**
 * Runs a suite against the real service in both ways it can run: embedded (one process, state in memory) and as two
 * processes on a real Redis; Postgres is real in both. `cluster` is the second on a Redis Cluster of three, with a standby that
 * every commit waits for. Without a Redis the latter two are skipped, and the run says so. To be awaited at the top level of a
 * test file.
 */
export async function describeInBothPlanes(
  name: string,
  setup: () => Promise<PlanesSetup>,
  tests: (planes: Planes, which: 'one' | 'two') => void,
  options: { readonly planes?: readonly Topology[] } = {},
): Promise<void> {
  for (const which of options.planes ?? (['one', 'two'] as const)) {
    // Before the suite is told of: whether there is a Redis decides whether there is a suite.
    const redis = which === 'one' ? undefined : await startTestRedis({ cluster: which === 'cluster' });
    const title = `${name} (${titles[which]})`;
    const kind = which === 'one' ? 'one' : 'two';
    if (kind === 'two' && redis === undefined) {
      noteSkip(`what needs ${titles[which]}`, redisSkipReason);
      describe.skip(title, () =>
        tests(
          {
            get service() {
              return absent();
            },
          },
          kind,
        ),
      );
      continue;
    }
    describe(title, () => {
      let postgres: TestPostgres | undefined;
      let standby: Standby | undefined;
      let made: PlanesSetup | undefined;
      let service: Service | undefined;

      beforeAll(async () => {
        postgres = await startTestPostgres(which === 'cluster' ? { durability: 'full' } : {});
        if (which === 'cluster' && 'dataDir' in postgres) standby = await startStandby(postgres as OwnPostgres);
        made = await setup();
        service = await startService({
          planes: kind,
          databaseUrl: await postgres.createDatabase(),
          redisUrl: redis?.url,
          registry: made.registry,
          catalog: made.catalog,
          environment: made.environment ?? {},
          brokerEnvironment: made.brokerEnvironment,
          enclaves: made.enclaves,
          controlHost: made.controlHost,
        });
      });
      afterAll(async () => {
        await service?.stop();
        await made?.stop?.();
        await redis?.stop();
        await postgres?.stop();
        await standby?.stop();
      });
      const planes: Planes = {
        get service() {
          return service ?? absent();
        },
      };
      tests(planes, kind);
    });
  }
}

function absent(): never {
  throw new Error('the service runs within tests and hooks only');
}
