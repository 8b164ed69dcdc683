import type { Faults } from './ground.ts';
import { World } from './world.ts';

const none: Faults = { lose: 0, late: 0, repeat: 0, crash: 0, failOver: 0, wipe: 0, leap: 0 };
const network = { lose: 0.03, late: 0.05, repeat: 0.05 };

/** Combinations of faults that occur together. */
export const climates: Readonly<Record<string, Faults>> = {
  calm: none,
  'a bad network': { ...none, ...network },
  'crashing processes': { ...none, ...network, crash: 0.3 },
  'a stale replica': { ...none, ...network, failOver: 0.3 },
  'a Redis that loses everything': { ...none, ...network, wipe: 0.3, crash: 0.1 },
  'lapsing leases': { ...none, ...network, leap: 0.3 },
  'two control planes': { ...none, ...network, wipe: 0.3, failOver: 0.3, crash: 0.1, leap: 0.1, controls: 2 },
  'everything at once': { ...network, crash: 0.15, failOver: 0.15, wipe: 0.1, leap: 0.15 },
};

/** Runs one seed. Returns how often each event happened. Throws with the step at which a rule was broken. */
export async function runSeed(
  climate: string,
  seed: number,
  steps: number,
  options: { readonly declares?: boolean; readonly reserves?: boolean } = {},
): Promise<ReadonlyMap<string, number>> {
  const faults = climates[climate];
  if (faults === undefined) throw new Error(`no climate ${climate}`);
  const world = new World(seed, faults, options);
  try {
    await world.run(steps);
  } catch (error) {
    throw new Error(`${climate}, seed ${seed}, step ${world.step}: ${error instanceof Error ? error.message : error}`, {
      cause: error,
    });
  }
  return world.seen;
}
