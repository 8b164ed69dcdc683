import { growJson, mutateInput } from './mutate-input.ts';
import type { SeededRandom } from './seeded-random.ts';
import type { FuzzTarget } from './target.ts';

/** An input that broke a promise. The cause says which one. */
export class Finding extends Error {
  readonly input: Buffer;

  constructor(target: string, input: Buffer, cause: unknown) {
    super(`a finding in ${target}`, { cause });
    this.name = 'Finding';
    this.input = input;
  }
}

/** CPU time of our own thread. On a busy machine, wall time means little. */
const slowMs = 1000;
const cpuMs = (): number => process.threadCpuUsage().user / 1000;

/**
 * Lets a target read one input, and returns its CPU time in ms. Throws a `Finding` if the target throws, takes more
 * than `mostMs`, or changes what all objects inherit.
 */
export async function readOnce(target: FuzzTarget, input: Buffer, mostMs = slowMs): Promise<number> {
  const startedAt = cpuMs();
  try {
    const answer = target.read(input);
    if (answer instanceof Promise) await answer;
  } catch (error) {
    throw new Finding(target.name, input, error);
  }
  const tookMs = cpuMs() - startedAt;
  if (tookMs > mostMs) throw new Finding(target.name, input, new Error(`took ${Math.round(tookMs)} ms of CPU`));
  for (const inherited in {}) throw new Finding(target.name, input, new Error(`every object now has \`${inherited}\``));
  return tookMs;
}

/** The number of slowest inputs that are grown further. */
const kept = 8;

/**
 * Searches for slow inputs. It grows small ones, and changes and grows the slowest again. Throws a finding if an input
 * takes more time than the target allows.
 */
export class SlowInputs {
  readonly #target: FuzzTarget;
  readonly #random: SeededRandom;
  /** Small inputs that became slow when they grew, the slowest first. */
  #slowest: { readonly small: Buffer; readonly ms: number }[] = [];
  slowestMs = 0;

  constructor(target: FuzzTarget, random: SeededRandom) {
    this.#target = target;
    this.#random = random;
  }

  /** Reads one grown input. `parent` is any input of the corpus. `mostMs` is the maximum CPU time. */
  async tryOne(parent: Buffer, mostMs = this.#target.grows?.mostMs): Promise<void> {
    const { grows } = this.#target;
    if (grows === undefined) return;
    const known = this.#slowest[this.#random.below(kept)]?.small ?? parent;
    const small = this.#random.below(2) === 0 ? known : mutateInput(this.#target, known, parent, this.#random);
    let text = small.toString('utf8');
    // Include small sizes: an input that is slow for its size shows there first, and it stays below size limits.
    const bytes = grows.bytes >> this.#random.below(6);
    for (let parts = 1 + this.#random.below(2); parts > 0; parts -= 1) text = growJson(text, bytes, this.#random);
    const ms = await readOnce(this.#target, Buffer.from(text.slice(0, grows.bytes)), mostMs);
    this.slowestMs = Math.max(this.slowestMs, ms);
    this.#slowest = [...this.#slowest, { small, ms }].sort((a, b) => b.ms - a.ms).slice(0, kept);
  }
}
