import type { Fault } from './fault.ts';
import { networkFaults } from './network.ts';
import { postgresFaults } from './postgres.ts';
import { processFaults } from './processes.ts';
import { providerFaults } from './providers.ts';
import { redisFaults } from './redis.ts';
import { surroundingFaults } from './surroundings.ts';

/** All faults of these tests. */
export const faults: readonly Fault[] = [
  ...processFaults,
  ...redisFaults,
  ...postgresFaults,
  ...networkFaults,
  ...providerFaults,
  ...surroundingFaults,
];
