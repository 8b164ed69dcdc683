import { noteSkip } from '@sotto/test-servers';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Random } from '../../kit/random.ts';
import { openRig, type Rig } from './rig.ts';
import { faults, goThrough, newHistory } from './under-fault.ts';

/** The number of pairs: `SOTTO_CHAOS_PAIRS`. The same seed, `SOTTO_CHAOS_SEED`, selects the same pairs. */
const count = Number(process.env.SOTTO_CHAOS_PAIRS ?? 5);
const seed = Number(process.env.SOTTO_CHAOS_SEED ?? Date.now() % 1_000_000);

let rig: Rig | undefined;
const history = newHistory();

beforeAll(async () => {
  rig = await openRig('random pairs of faults under load');
});
afterAll(async () => {
  await rig?.stop();
});

const random = new Random(seed);
const pairs = Array.from({ length: count }, (_, at) => {
  const first = random.pick(faults);
  const pair = [first, random.pick(faults.filter(({ to }) => to !== first?.to))].filter((fault) => fault !== undefined);
  return { name: `${at + 1} of seed ${seed}: ${pair.map((fault) => fault.name).join(', and ')}`, pair };
});

it.for(pairs)('$name', { timeout: 150_000 }, async ({ name, pair }, context) => {
  if (rig === undefined) return context.skip('no Redis');
  for (const fault of pair) {
    const why = fault.missing?.(rig);
    if (why === undefined) continue;
    noteSkip(`“${fault.name}” under load`, `${why}.`);
    return context.skip(why);
  }
  const { recoveredMs, outcomes } = await goThrough(rig, history, pair);
  console.log(`${name}: served again after ${recoveredMs} ms; ${JSON.stringify(outcomes)}`);
});

it('in the end the audit is clean', async (context) => {
  if (rig === undefined) return context.skip('no Redis');
  expect(await rig.service.runControl(['audit'])).toMatchObject({
    code: 0,
    output: expect.stringContaining('clean: to the nano-dollar'),
  });
});
