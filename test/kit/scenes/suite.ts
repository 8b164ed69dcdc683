import { beforeEach, describe } from 'vitest';
import { describeInWorld, type PlanesIn, type PlanesOptions } from '../both-planes.ts';
import { type ProviderSpec, World, type WorldSpec } from './world.ts';

/** The environment of the tests: the running service and its providers. Use it only within tests and hooks. */
export type Stage = PlanesIn<World>;

/** Tests of one concept, with the providers and models that they need. */
export interface Suite {
  readonly name: string;
  readonly spec: WorldSpec;
  tests(stage: Stage): void;
}

export interface SuitesOptions extends Pick<PlanesOptions, 'planes'> {
  readonly environment?: Readonly<Record<string, string>>;
}

/** Runs several suites against one service per topology, because starting one takes longer than most suites. */
export async function describeSuites(
  name: string,
  suites: readonly Suite[],
  { environment = {}, ...options }: SuitesOptions = {},
): Promise<void> {
  await describeInWorld(
    name,
    {
      start: () => World.start(mergeSpecs(suites.map(({ spec }) => spec))),
      setupOf: (world) => {
        const { registry, catalog } = world;
        return { registry, catalog, environment, enclaves: 'assumed', stop: () => world.stop() };
      },
    },
    (stage) => {
      for (const suite of suites) {
        describe(suite.name, () => {
          beforeEach(() => stage.world.reset());
          suite.tests(stage);
        });
      }
    },
    options,
  );
}

/** Merges the providers and shapes of several suites. Entries with the same name must be equal. */
function mergeSpecs(specs: readonly WorldSpec[]): WorldSpec {
  const providers = new Map<string, ProviderSpec>();
  const shapes: Record<string, WorldSpec['shapes'][string]> = {};
  const same = (known: unknown, given: unknown, name: string): void => {
    if (known !== undefined && JSON.stringify(known) !== JSON.stringify(given)) throw new Error(`two kinds of ${name}`);
  };
  for (const spec of specs) {
    for (const provider of spec.providers) {
      same(providers.get(provider.id), provider, provider.id);
      providers.set(provider.id, provider);
    }
    for (const [shape, routes] of Object.entries(spec.shapes)) {
      same(shapes[shape], routes, shape);
      shapes[shape] = routes;
    }
  }
  const copies = specs.reduce((sum, spec) => sum + (spec.copies ?? 1), 0);
  return { providers: [...providers.values()], shapes, copies };
}
