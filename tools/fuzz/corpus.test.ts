import { describe, expect, it } from 'vitest';
import { SeededRandom } from '../../packages/attestation/src/testing/mutate.ts';
import { readCorpus } from './engine/corpus.ts';
import { mutateInput } from './engine/mutate-input.ts';
import { readOnce } from './engine/read-once.ts';
import { SlowInputs } from './engine/slow-inputs.ts';
import { targetGroups } from './targets/index.ts';

// What was kept, and a few hundred inputs beside; `npm run fuzz` does millions, and looks for what is new.

/** Of inputs made of the seeds: what costs much is tried less. */
const madeUp = (share: number): number => (share < 0.1 ? 5 : 150);
/** Of large inputs, for readers that promise to be quick. */
const grown = 20;
/** Any machine that runs tests is quicker than this. `npm run fuzz` is stricter. */
const anyMs = 1000;

for (const { load } of targetGroups) {
  const targets = await load();
  describe.each(targets)('the readers of $name', (target) => {
    it('keep their promises to every input that was kept, and to some that were not', async () => {
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
