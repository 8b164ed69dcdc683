import { hasSharedRedis, noteSkip, redisSkipReason } from '@sotto/test-servers';
import { afterAll, beforeAll, describe } from 'vitest';
import { isThorough } from '../thoroughly.ts';
import { type Topology, topologyTitles } from '../topologies.ts';
import type { StageSpec } from './spec.ts';
import { type Spares, Stage } from './stage.ts';
import { surroundingsOf } from './surroundings.ts';

/** The servers under the service. */
export interface Servers {
  readonly databaseUrl: string;
  /** Empty if the planes are one process. */
  readonly redisUrl: string;
}

/** A spec, or a function that first starts what the spec names. It runs for each topology. */
export type GivenSpec<StandIns> = StageSpec<StandIns> | ((servers: Servers) => Promise<StageSpec<StandIns>>);

export interface StageOptions {
  /**
   * The topologies of a thorough run. Other runs use the first. Default: two processes, or embedded if there is no Redis. Name more
   * only for what they alone can break.
   */
  readonly planes?: readonly Topology[];
  /** Whether this machine has what the suite needs besides the planes, such as a browser. Otherwise its tests are skipped. */
  readonly able?: boolean;
  /** Creates `Stage.account` before the tests, and these spares. */
  readonly spares?: Spares;
}

/** Runs a suite against the real service, in each topology that it needs. Await it at the top level of a test file. */
export async function describeStage<StandIns>(
  name: string,
  given: GivenSpec<StandIns>,
  tests: (stage: Stage<StandIns>, which: 'one' | 'two') => void,
  { planes = [hasSharedRedis ? 'two' : 'one'], able = true, spares }: StageOptions = {},
): Promise<void> {
  if (!able) {
    describe.skip(name, () => tests(new Stage(), 'two'));
    return;
  }
  for (const which of planes) {
    const kind = which === 'one' ? 'one' : 'two';
    const title = `${name} (${topologyTitles[which]})`;
    const stage = new Stage<StandIns>();
    // The result decides between a suite and a skipped one, so it must be known before the suite is declared.
    const surroundings = await surroundingsOf[which]();
    if (surroundings === undefined) {
      noteSkip(`what needs ${topologyTitles[which]}`, redisSkipReason);
      describe.skip(title, () => tests(stage, kind));
      continue;
    }
    const { redisUrl } = surroundings;
    describe(title, () => {
      beforeAll(async () => {
        const databaseUrl = await surroundings.start();
        const spec = typeof given === 'function' ? await given({ databaseUrl, redisUrl: redisUrl ?? '' }) : given;
        await stage.start(spec, { planes: kind, databaseUrl, redisUrl });
      });
      if (spares !== undefined) beforeAll(() => stage.createAccounts(spares));
      afterAll(async () => {
        await stage.stop();
        await surroundings.stop();
      });
      tests(stage, kind);
    });
    if (!isThorough) return;
  }
}
