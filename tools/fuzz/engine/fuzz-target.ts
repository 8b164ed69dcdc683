import { type Profiler, Session } from 'node:inspector';
import { readCorpus } from './corpus.ts';
import { mutateInput } from './mutate-input.ts';
import { readOnce, SlowInputs } from './read-once.ts';
import { SeededRandom } from './seeded-random.ts';
import type { FuzzTarget } from './target.ts';

export interface FuzzBudget {
  readonly runs: number;
  /** Unix ms after which no new batch begins. */
  readonly until: number;
}

export interface FuzzResult {
  readonly runs: number;
  readonly blocks: number;
  /** The inputs that each reached a block that no earlier input had reached, including the seeds. */
  readonly corpus: readonly Buffer[];
  readonly slowestMs: number;
}

/** Inputs between two coverage queries. With this many, a query costs little in comparison. */
const leastBatch = 512;
const mostBatch = 1 << 15;
/** The share of time for grown inputs. */
const growingShare = 0.25;

/**
 * Runs a target on mutations of its corpus. An input that reaches new code joins the corpus and is mutated further.
 * Throws the first finding, with its input.
 */
export async function fuzzTarget(
  target: FuzzTarget,
  { coverage, seed, budget }: { readonly coverage: BlockCoverage; readonly seed: number; readonly budget: FuzzBudget },
): Promise<FuzzResult> {
  const random = new SeededRandom(seed);
  const corpus: Buffer[] = [];
  let runs = 0;
  let slowestMs = 0;
  const read = async (input: Buffer): Promise<void> => {
    runs += 1;
    slowestMs = Math.max(slowestMs, await readOnce(target, input));
  };
  coverage.forget();
  const keepIfNew = async (input: Buffer): Promise<void> => {
    coverage.fresh();
    await read(input);
    const blocks = coverage.fresh();
    if (blocks.length === 0) return;
    coverage.learn(blocks);
    corpus.push(input);
  };
  for (const known of [...readCorpus(target.name), ...target.seeds]) {
    await keepIfNew(Buffer.from(known));
  }
  const slow = new SlowInputs(target, random);
  let batchSize = leastBatch;
  const pick = (): Buffer => corpus[random.below(corpus.length)] ?? Buffer.alloc(0);
  while (runs < budget.runs && Date.now() < budget.until) {
    const batch: Buffer[] = [];
    const beganAt = performance.now();
    for (let index = Math.min(batchSize, budget.runs - runs); index > 0 && Date.now() < budget.until; index -= 1) {
      // Prefer recent inputs: their surroundings are the least explored.
      const parent =
        random.below(3) === 0 ? (corpus.at(-1 - random.below(Math.min(8, corpus.length))) ?? pick()) : pick();
      const input = mutateInput(target, parent, pick(), random);
      batch.push(input);
      await read(input);
    }
    const lookedAt = performance.now();
    const isNew = coverage.fresh().length > 0;
    const wanted = ((10 * (performance.now() - lookedAt)) / (lookedAt - beganAt)) * batch.length;
    batchSize = Math.min(mostBatch, Math.max(leastBatch, Math.round(wanted)));
    if (isNew) await eachThatIsNew(batch, { coverage, read, keepIfNew });
    // A large input takes as long as hundreds of small ones, so large ones get a share of time instead of a number of
    // runs.
    const growsUntil = performance.now() + growingShare * (performance.now() - beganAt);
    while (target.grows !== undefined && performance.now() < growsUntil) await slow.tryOne(pick());
    // Large inputs are not stored, so their coverage does not matter.
    coverage.fresh();
  }
  return { runs, blocks: coverage.size, corpus, slowestMs: Math.max(slowestMs, slow.slowestMs) };
}

/** Finds the inputs of a batch that reached new code, by bisection. */
async function eachThatIsNew(
  batch: readonly Buffer[],
  on: {
    readonly coverage: BlockCoverage;
    readonly read: (input: Buffer) => Promise<void>;
    readonly keepIfNew: (input: Buffer) => Promise<void>;
  },
): Promise<void> {
  const [only] = batch;
  if (only === undefined) return;
  if (batch.length === 1) return on.keepIfNew(only);
  const middle = batch.length >> 1;
  for (const half of [batch.slice(0, middle), batch.slice(middle)]) {
    on.coverage.fresh();
    for (const input of half) await on.read(input);
    if (on.coverage.fresh().length > 0) await eachThatIsNew(half, on);
  }
}

/** Larger inputs are not stored, because the seeds include large ones. */
const maxKeptBytes = 4096;

/**
 * Returns a small set of inputs that reaches all code that the corpus reaches beyond the seeds. Each input is reduced
 * as far as it still contributes its part.
 */
export async function minimize(
  target: FuzzTarget,
  corpus: readonly Buffer[],
  coverage: BlockCoverage,
): Promise<Buffer[]> {
  coverage.forget();
  const reach = async (input: Buffer): Promise<string[]> => {
    coverage.fresh();
    await readOnce(target, input);
    return coverage.fresh();
  };
  for (const seed of target.seeds) coverage.learn(await reach(Buffer.from(seed)));
  const kept: Buffer[] = [];
  for (const input of corpus.toSorted((a, b) => a.length - b.length)) {
    const blocks = await reach(input);
    if (blocks.length === 0) continue;
    const small = await trim(input, async (smaller) => {
      const reached = new Set(await reach(smaller));
      return blocks.every((block) => reached.has(block));
    });
    if (small.length > maxKeptBytes) continue;
    coverage.learn(blocks);
    kept.push(small);
  }
  return kept;
}

/** A try costs one coverage query, which takes milliseconds. */
const mostTries = 60;

/** Removes pieces, large ones first, as long as the rest reaches the same code. */
async function trim(input: Buffer, does: (smaller: Buffer) => Promise<boolean>): Promise<Buffer> {
  let whole = input;
  let tries = 0;
  for (let piece = whole.length >> 1; piece >= 8 && tries < mostTries; piece >>= 1) {
    for (let at = 0; at < whole.length && tries < mostTries; tries += 1) {
      const smaller = Buffer.concat([whole.subarray(0, at), whole.subarray(at + piece)]);
      if (smaller.length < whole.length && (await does(smaller))) whole = smaller;
      else at += piece;
    }
  }
  return whole;
}

/**
 * Tells which blocks of the project's code ran, by V8's precise coverage. Code runs about as fast as without it, but
 * each query costs milliseconds. So the fuzzer queries after many inputs, and looks closer only if there is something
 * new.
 */
export class BlockCoverage {
  readonly #session = new Session();
  readonly #known = new Set<string>();

  constructor() {
    this.#session.connect();
    this.#post('Profiler.enable');
    this.#post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  }

  /** Returns the blocks that ran since the last call and that `learn` has not been told of. */
  fresh(): string[] {
    const { result } = this.#post('Profiler.takePreciseCoverage') as Profiler.TakePreciseCoverageReturnType;
    const ran: string[] = [];
    for (const { url, scriptId, functions } of result) {
      if (!isOurs.test(url)) continue;
      for (const { ranges } of functions) {
        for (const { count, startOffset, endOffset } of ranges) {
          if (count > 0) ran.push(`${scriptId}:${startOffset}:${endOffset}`);
        }
      }
    }
    return ran.filter((block) => !this.#known.has(block));
  }

  learn(blocks: readonly string[]): void {
    for (const block of blocks) this.#known.add(block);
  }

  /** Forgets the known blocks, for another target or a new selection. */
  forget(): void {
    this.#known.clear();
    this.fresh();
  }

  get size(): number {
    return this.#known.size;
  }

  close(): void {
    this.#session.disconnect();
  }

  #post(method: string, parameters?: object): unknown {
    let answered: unknown;
    // The session is in its own thread, and it answers before the call returns.
    this.#session.post(method, parameters, (error, result) => {
      if (error !== null) throw error;
      answered = result;
    });
    return answered;
  }
}

const isOurs = /\/(?:packages|apps)\/[a-z]+\/src\/(?!(?:.*\/)?testing\/)/;
