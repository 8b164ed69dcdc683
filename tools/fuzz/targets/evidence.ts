import { Refusal } from '../../../packages/attestation/src/refusal.ts';
import { fuzzTargets } from '../../../packages/attestation/src/testing/fuzz-targets.ts';
import type { FuzzTarget } from '../engine/target.ts';

/** Evidence of hardware and enclaves: its own targets, in the form that all have here. */
export const evidenceTargets: readonly FuzzTarget[] = fuzzTargets.map(({ name, share, seeds, read }) => ({
  name: `evidence-${name.toLowerCase().replaceAll(/\W+/g, '-')}`,
  grammar: 'bytes',
  share: share / 10,
  seeds,
  async read(input) {
    try {
      await read(Uint8Array.from(input));
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
    }
  },
}));
