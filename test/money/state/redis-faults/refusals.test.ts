import { expect, test } from 'vitest';
import { keyProjection, putKeyIn } from '../fixtures.ts';
import { byKey, prefix, shard, useRedisToBreak, walletId } from './stage.ts';

const redis = useRedisToBreak();
const { redeem } = redis;

/** The commands that Redis ran meanwhile, with their numbers, without those of this connection. */
async function commandsOf(act: () => Promise<unknown>): Promise<Record<string, number>> {
  const read = async (): Promise<Map<string, number>> => {
    const stats = await redis.raw.info('commandstats');
    const found = [...stats.matchAll(/cmdstat_(\S+?):calls=(\d+)/g)];
    return new Map(found.map(([, name = '', calls]) => [name, Number(calls)]));
  };
  const before = await read();
  await act();
  const after = await read();
  const own = /^(info|config|client|ping)/;
  return Object.fromEntries(
    [...after].flatMap(([name, calls]) => {
      const more = calls - (before.get(name) ?? 0);
      return more === 0 || own.test(name) ? [] : [[name, more] as const];
    }),
  );
}

test('an admitted request costs the same commands with and without a count of refusals, and a refused one at most two more', async () => {
  let generation = 1;
  const put = async (countsRefusals: boolean): Promise<void> => {
    generation += 1;
    await putKeyIn(redis.state, keyProjection({ shard, keyHash: 'key', walletId, generation, countsRefusals }));
    await redeem({ generation, holdId: `first ${generation}` });
  };
  const admitted = (holdId: string) => commandsOf(() => redeem({ generation, holdId }));
  const refused = () => commandsOf(() => redeem({ generation, holdId: 'more', amountNusd: 1_000_000n }));
  await put(false);
  const [plain, plainRefused] = [await admitted('plain'), await refused()];
  await put(true);
  expect(await admitted('counting')).toEqual(plain);
  const added = { hincrby: (plainRefused.hincrby ?? 0) + 1 };
  expect(await refused()).toEqual({ ...plainRefused, ...added, pexpire: 1 });
  expect(await refused()).toEqual({ ...plainRefused, ...added });
});

test('a key whose count is damaged is refused and admitted all the same', async () => {
  const { hour } = await redis.state.readRefusals(shard, 0);
  await redis.raw.set(`${prefix}refusals:${hour}`, 'not a hash');
  await redis.raw.set(`${prefix}refusals:${hour + 1}`, 'not a hash');
  expect(await redeem({ holdId: 'more', amountNusd: 1_000_000n })).toMatchObject({ result: 'insufficient' });
  await redis.state.countRefusal({ shard, right: byKey, kind: 'access' });
  expect(await redeem()).toMatchObject({ result: 'admitted' });
});
