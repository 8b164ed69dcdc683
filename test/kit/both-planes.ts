import { afterAll, beforeAll, describe } from 'vitest';
import { startTestPostgres, type TestPostgres } from './postgres.ts';
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

/**
 * Runs a suite against the real service in both ways it can run: embedded (one process, state in memory) and as two
 * processes on a real Redis; Postgres is real in both. Without a Redis the second is skipped, and the run says so.
 * To be awaited at the top level of a test file.
 */
export async function describeInBothPlanes(
  name: string,
  setup: () => Promise<PlanesSetup>,
  tests: (planes: Planes, which: 'one' | 'two') => void,
  options: { readonly planes?: readonly ('one' | 'two')[] } = {},
): Promise<void> {
  for (const which of options.planes ?? (['one', 'two'] as const)) {
    // Before the suite is told of: whether there is a Redis decides whether there is a suite.
    const redis = which === 'two' ? await startTestRedis() : undefined;
    const title = `${name} (${which === 'one' ? 'embedded' : 'two processes'})`;
    if (which === 'two' && redis === undefined) {
      noteSkip('what needs the two processes on a real Redis', redisSkipReason);
      describe.skip(title, () =>
        tests(
          {
            get service() {
              return absent();
            },
          },
          which,
        ),
      );
      continue;
    }
    describe(title, () => {
      let postgres: TestPostgres | undefined;
      let made: PlanesSetup | undefined;
      let service: Service | undefined;

      beforeAll(async () => {
        postgres = await startTestPostgres();
        made = await setup();
        service = await startService({
          planes: which,
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
      });
      const planes: Planes = {
        get service() {
          return service ?? absent();
        },
      };
      tests(planes, which);
    });
  }
}

function absent(): never {
  throw new Error('the service runs within tests and hooks only');
}
