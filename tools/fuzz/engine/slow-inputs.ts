import type { SeededRandom } from '../../../packages/attestation/src/testing/mutate.ts';
import { growJson } from './grow-json.ts';
import { mutateInput } from './mutate-input.ts';
import { readOnce } from './read-once.ts';
import type { FuzzTarget } from './target.ts';

/** How many of the dearest inputs are built upon. */
const kept = 8;

/**
 * Looks for inputs that take long: grows small ones, and changes and grows again those that took longest so far. One
 * that takes more than the target allows is thrown as a finding.
 */
export class SlowInputs {
  readonly #target: FuzzTarget;
  readonly #random: SeededRandom;
  /** Small inputs whose growth took long, the slowest first. */
  #slowest: { readonly small: Buffer; readonly ms: number }[] = [];
  slowestMs = 0;

  constructor(target: FuzzTarget, random: SeededRandom) {
    this.#target = target;
    this.#random = random;
  }

  /** Reads one grown input. `parent` is any input of the corpus, `mostMs` the CPU that it may take. */
  async tryOne(parent: Buffer, mostMs = this.#target.grows?.mostMs): Promise<void> {
    const { grows } = this.#target;
    if (grows === undefined) return;
    const known = this.#slowest[this.#random.below(kept)]?.small ?? parent;
    const small = this.#random.below(2) === 0 ? known : mutateInput(this.#target, known, parent, this.#random);
    let text = small.toString('utf8');
    // Small sizes too: what takes long for its size shows there first, and limits by size are passed below.
    const bytes = grows.bytes >> this.#random.below(6);
    for (let parts = 1 + this.#random.below(2); parts > 0; parts -= 1) text = growJson(text, bytes, this.#random);
    const ms = await readOnce(this.#target, Buffer.from(text.slice(0, grows.bytes)), mostMs);
    this.slowestMs = Math.max(this.slowestMs, ms);
    this.#slowest = [...this.#slowest, { small, ms }].sort((a, b) => b.ms - a.ms).slice(0, kept);
  }
}
