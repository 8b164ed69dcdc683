import { beforeEach, describe } from 'vitest';
import type { StageSpec } from './spec.ts';
import type { Stage } from './stage.ts';

/** Tests of one concept, with the providers and models that they need. */
export interface Suite {
  readonly name: string;
  readonly spec: Pick<StageSpec, 'providers' | 'models' | 'copies' | 'environment'>;
  tests(stage: Stage): void;
}

/** Joins suites for one stage, because starting a service takes longer than most suites. */
export const joined = (...suites: readonly Suite[]): readonly [StageSpec, tests: (stage: Stage) => void] => [
  mergeSpecs(suites.map(({ spec }) => spec)),
  (stage) => {
    for (const suite of suites) {
      describe(suite.name, () => {
        beforeEach(() => stage.reset());
        suite.tests(stage);
      });
    }
  },
];

/** Merges the providers and models of several suites. Entries with the same name must be equal. */
function mergeSpecs(specs: readonly Suite['spec'][]): StageSpec {
  const merged = <Entry>(lists: readonly (Readonly<Record<string, Entry>> | undefined)[]): Record<string, Entry> => {
    const all: Record<string, Entry> = {};
    for (const [name, entry] of lists.flatMap((list) => Object.entries(list ?? {}))) {
      if (name in all && JSON.stringify(all[name]) !== JSON.stringify(entry)) throw new Error(`two kinds of ${name}`);
      all[name] = entry;
    }
    return all;
  };
  return {
    providers: merged(specs.map(({ providers }) => providers)),
    models: merged(specs.map(({ models }) => models)),
    copies: specs.reduce((sum, { copies = 1 }) => sum + copies, 0),
    limits: { context_length: 100_000, max_output_tokens: 4_000 },
    environment: merged(specs.map(({ environment }) => environment)),
    enclaves: 'assumed',
  };
}
