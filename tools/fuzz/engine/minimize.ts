import type { BlockCoverage } from './coverage.ts';
import { readOnce } from './read-once.ts';
import type { FuzzTarget } from './target.ts';

/** Larger inputs are not kept: the seeds have what is large. */
const maxKeptBytes = 4096;

/**
 * The few and small inputs that together reach what a corpus reaches beyond the seeds, each cut down as far as it still
 * does its part.
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

/** A try costs a look at the coverage: milliseconds. */
const mostTries = 60;

/** Takes away pieces, large ones first, as long as the rest does. */
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
