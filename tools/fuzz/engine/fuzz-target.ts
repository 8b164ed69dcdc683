import { SeededRandom } from '../../../packages/attestation/src/testing/mutate.ts';
import { readCorpus } from './corpus.ts';
import type { BlockCoverage } from './coverage.ts';
import { mutateInput } from './mutate-input.ts';
import { readOnce } from './read-once.ts';
import { SlowInputs } from './slow-inputs.ts';
import type { FuzzTarget } from './target.ts';

export interface FuzzBudget {
  readonly runs: number;
  /** Unix ms after which no further batch begins. */
  readonly until: number;
}

export interface FuzzResult {
  readonly runs: number;
  readonly blocks: number;
  /** The inputs that each reached a block that none before it had, the seeds among them. */
  readonly corpus: readonly Buffer[];
  readonly slowestMs: number;
}

/** Inputs between two looks at the coverage: so many that looking costs little beside reading. */
const leastBatch = 512;
const mostBatch = 1 << 15;
/** Time for growing inputs, beside the time for all others. */
const growingShare = 0.25;

/**
 * Runs a target on mutations of its corpus. An input that reaches new code joins the corpus, so that the next ones start
 * from it. Throws the first finding, with the input in hex.
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
      // What was found last is where nobody has looked yet.
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
    // A large input takes as long as hundreds of small ones, so that these go by time.
    const growsUntil = performance.now() + growingShare * (performance.now() - beganAt);
    while (target.grows !== undefined && performance.now() < growsUntil) await slow.tryOne(pick());
    // Which code they reached is not asked: they are too large to keep.
    coverage.fresh();
  }
  return { runs, blocks: coverage.size, corpus, slowestMs: Math.max(slowestMs, slow.slowestMs) };
}

/** Finds which inputs of a batch reached new code, by halves. */
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
