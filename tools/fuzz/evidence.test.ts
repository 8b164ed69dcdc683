import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readCorpus } from './engine/corpus.ts';
import { mutateInput } from './engine/mutate-input.ts';
import { readOnce } from './engine/read-once.ts';
import { SeededRandom } from './engine/seeded-random.ts';
import { evidenceTargets } from './targets/evidence.ts';

// A few thousand inputs on every run. `npm run fuzz -- evidence` tries millions.

describe('broken evidence leads to a result or a refusal, never to another error', () => {
  it.each(evidenceTargets.map((target) => [target.name, target] as const))('%s', async (_, target) => {
    const inputs = [...target.seeds, ...readCorpus(target.name)];
    expect(inputs.length).toBeGreaterThan(0);
    await fc.assert(
      fc.asyncProperty(fc.integer(), async (seed) => {
        const random = new SeededRandom(seed);
        const any = (): Uint8Array => inputs[random.below(inputs.length)] ?? new Uint8Array();
        await readOnce(target, mutateInput(target, any(), any(), random));
      }),
      { numRuns: (target.share ?? 1) < 0.1 ? 10 : 300 },
    );
  });
});
