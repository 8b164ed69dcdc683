import { beforeEach, describe } from 'vitest';
import { describeInBothPlanes } from '../../kit/both-planes.ts';
import type { Service } from '../../kit/service.ts';
import { type ProviderSpec, World, type WorldSpec } from './world.ts';

/** Where tests play: the running service and the providers around it. Only within tests and hooks. */
export interface Stage {
  readonly service: Service;
  readonly world: World;
}

/** Tests of one concept, with the providers and models that they need. */
export interface Suite {
  readonly name: string;
  readonly spec: WorldSpec;
  tests(stage: Stage): void;
}

export interface SuitesOptions {
  readonly planes?: readonly ('one' | 'two')[];
  readonly environment?: Readonly<Record<string, string>>;
}

/** Runs several suites against one service each way, because starting one takes longer than most suites. */
export async function describeSuites(
  name: string,
  suites: readonly Suite[],
  { planes: which = ['one', 'two'], environment = {} }: SuitesOptions = {},
): Promise<void> {
  let world: World | undefined;
  await describeInBothPlanes(
    name,
    async () => {
      const made = await World.start(mergeSpecs(suites.map(({ spec }) => spec)));
      world = made;
      const { registry, catalog } = made;
      return { registry, catalog, environment, enclaves: 'assumed', stop: () => made.stop() };
    },
    (planes) => {
      const stage: Stage = {
        get service() {
          return planes.service;
        },
        get world() {
          if (world === undefined) throw new Error('the world exists within tests and hooks only');
          return world;
        },
      };
      for (const suite of suites) {
        describe(suite.name, () => {
          beforeEach(() => stage.world.reset());
          suite.tests(stage);
        });
      }
    },
    { planes: which },
  );
}

/** Providers and shapes of several suites; what has the same name must be the same. */
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
