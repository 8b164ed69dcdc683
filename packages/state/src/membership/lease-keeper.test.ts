import { expect, test } from 'vitest';
import { createMemoryState, MemoryStore } from '../memory/memory-state.ts';
import { shards } from '../shard.ts';
import { LeaseKeeper } from './lease-keeper.ts';

/** A process whose clock a test sets, in an open state. */
async function member() {
  let now = 0;
  const state = createMemoryState({ store: new MemoryStore(() => now) });
  let renewals = 0;
  const leases = new LeaseKeeper({
    state: {
      ...state,
      join(...asked) {
        renewals += 1;
        return state.join(...asked);
      },
    },
    declare: () => undefined,
    now: () => now,
  });
  for (const shard of shards) await state.beginEpoch(shard, 1);
  await leases.renew();
  for (const shard of shards) await state.openEpoch(shard);
  await leases.renew();
  return {
    state,
    leases,
    /** Lets seconds pass, with a call in each, and returns in how many of them it renewed. */
    async renewalsOf(seconds: number): Promise<number> {
      renewals = 0;
      for (let second = 0; second < seconds; second += 1) {
        now += 1000;
        await leases.renewWhenDue();
      }
      return renewals / shards.length;
    },
  };
}

test('a process renews each second while a replica may lack its last step, and then every five', async () => {
  const { state, renewalsOf } = await member();
  await renewalsOf(310);
  expect(await renewalsOf(60)).toBe(12);
  await state.forget(3, ['none']);
  expect(await renewalsOf(300)).toBe(300);
  expect(await renewalsOf(30)).toBeLessThan(9);
});

test('a process that lost its place renews at once, and so does one that was told of a loss', async () => {
  const { state, leases, renewalsOf } = await member();
  await renewalsOf(310);
  leases.suspectLoss();
  expect(await renewalsOf(10)).toBe(10);
  await renewalsOf(310);
  await state.discardEpoch(3, 1);
  await state.forget(3, ['none']).catch(() => {});
  expect(leases.isSettled).toBe(false);
  expect(await renewalsOf(3)).toBeGreaterThanOrEqual(3);
});
