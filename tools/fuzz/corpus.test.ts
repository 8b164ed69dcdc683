import { describe, expect, it } from 'vitest';
import { readCorpus } from './engine/corpus.ts';
import { mutateInput } from './engine/mutate-input.ts';
import { readOnce, SlowInputs } from './engine/read-once.ts';
import { SeededRandom } from './engine/seeded-random.ts';
import { targetGroups } from './targets/index.ts';

// Replays the stored inputs and a few hundred new ones. `npm run fuzz` runs millions, and searches for new code.

/** The number of inputs that are made from the seeds. Slow targets get fewer. */
const madeUp = (share: number): number => (share < 0.1 ? 5 : 150);
/** The number of large inputs, for readers that have a time limit. */
const grown = 20;
/** A limit that every machine meets. `npm run fuzz` is stricter. */
const anyMs = 1000;

for (const { load } of targetGroups) {
  const targets = await load();
  describe.each(targets)('the readers of $name', (target) => {
    it('keep their promises for every stored input, and for some new ones', async () => {
      const inputs = [...target.seeds, ...readCorpus(target.name)];
      expect(inputs.length).toBeGreaterThan(0);
      for (const input of inputs) await readOnce(target, Buffer.from(input));
      const random = new SeededRandom(7);
      const any = (): Uint8Array => inputs[random.below(inputs.length)] ?? new Uint8Array();
      for (let index = 0; index < madeUp(target.share ?? 1); index += 1) {
        await readOnce(target, mutateInput(target, any(), any(), random));
      }
      const slow = new SlowInputs(target, random);
      for (let index = 0; index < grown; index += 1) await slow.tryOne(Buffer.from(any()), anyMs);
    }, 60_000);
  });
}
