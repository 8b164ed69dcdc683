import { afterAll, beforeAll, describe } from 'vitest';
import { hasSharedRedis, redisSkipReason } from './redis.ts';
import { type Service, type ServiceOptions, startService } from './service.ts';
import { noteSkip } from './skips.ts';
import { surroundingsOf } from './stage/surroundings.ts';
import { isThorough } from './thoroughly.ts';
import { type Topology, topologyTitles } from './topologies.ts';

export interface Planes {
  /** The running service. Use it only within tests and hooks. */
  readonly service: Service;
}

/** The running service, and what was started for it. Use both only within tests and hooks. */
export interface PlanesIn<World> extends Planes {
  readonly world: World;
}

/** The files and servers of a suite, created anew for each topology. */
export interface PlanesSetup
  extends Pick<
    ServiceOptions,
    | 'registry'
    | 'catalog'
    | 'environment'
    | 'brokerEnvironment'
    | 'controlEnvironment'
    | 'enclaves'
    | 'controlHost'
    | 'own'
  > {
  stop?(): Promise<void>;
}

/** The servers under the service. */
export interface Servers {
  readonly databaseUrl: string;
  /** Empty if the planes are one process. */
  readonly redisUrl: string;
}

export interface PlanesOptions {
  /**
   * The topologies of a thorough run. Other runs use the first. Default: two processes, or embedded if there is no Redis. Name more
   * only for what they alone can break.
   */
  readonly planes?: readonly Topology[];
  /** Whether this machine has what the suite needs besides the planes, such as a browser. Otherwise its tests are skipped. */
  readonly able?: boolean;
}

/** Runs a suite against the real service, in each topology that it needs. Await it at the top level of a test file. */
export async function describeInBothPlanes(
  name: string,
  setup: (servers: Servers) => Promise<PlanesSetup>,
  tests: (planes: Planes, which: 'one' | 'two') => void,
  { planes = [hasSharedRedis ? 'two' : 'one'], able = true }: PlanesOptions = {},
): Promise<void> {
  if (!able) {
    describe.skip(name, () =>
      tests(
        runningPlanes(() => undefined),
        'two',
      ),
    );
    return;
  }
  for (const which of planes) {
    const kind = which === 'one' ? 'one' : 'two';
    const title = `${name} (${topologyTitles[which]})`;
    // The result decides between a suite and a skipped one, so it must be known before the suite is declared.
    const surroundings = await surroundingsOf[which]();
    if (surroundings === undefined) {
      noteSkip(`what needs ${topologyTitles[which]}`, redisSkipReason);
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
        made = await setup({ databaseUrl, redisUrl: surroundings.redisUrl ?? '' });
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

/**
 * Runs a suite as `describeInBothPlanes` does, and gives it the world that was started for the topology: its providers and
 * other stand-ins.
 */
export async function describeInWorld<World>(
  name: string,
  { start, setupOf }: { readonly start: () => Promise<World>; readonly setupOf: (world: World) => PlanesSetup },
  tests: (stage: PlanesIn<World>, which: 'one' | 'two') => void,
  options: PlanesOptions = {},
): Promise<void> {
  let world: World | undefined;
  const setup = async (): Promise<PlanesSetup> => {
    world = await start();
    return setupOf(world);
  };
  const stageOf = (planes: Planes): PlanesIn<World> => ({
    get service() {
      return planes.service;
    },
    get world() {
      if (world === undefined) throw new Error('the world exists within tests and hooks only');
      return world;
    },
  });
  await describeInBothPlanes(name, setup, (planes, which) => tests(stageOf(planes), which), options);
}

const runningPlanes = (running: () => Service | undefined): Planes => ({
  get service() {
    const service = running();
    if (service === undefined) throw new Error('the service runs within tests and hooks only');
    return service;
  },
});
