import { beforeEach, describe, expect, test } from 'vitest';
import { joinAll, outcome } from '../fixtures.ts';
import {
  amounts,
  driver,
  fund,
  graceMs,
  joinOther,
  putKey,
  reapOther,
  redeem,
  redeemAs,
  result,
  shard,
  state,
  unavailable,
  wallet,
} from './world.ts';

export function leaseSuite(): void {
  describe('a lease', () => {
    beforeEach(async () => {
      await fund(10_000n);
      await putKey();
    });

    test('that lapsed is reaped with all its holds, and no other’s', async () => {
      const other = await joinOther();
      const abandoned = Array.from({ length: 250 }, (_, index) => `abandoned-${index}`);
      await Promise.all(abandoned.map((holdId) => redeemAs(other, { holdId, amountNusd: 1n })));
      await redeem({ amountNusd: 7n });
      expect(await reapOther()).toBe(250);
      expect(await wallet()).toEqual(amounts(7n, 0n));
      expect(await state.readOwnHolds(shard)).toEqual(['hold']);
    });

    test('that is renewed within the grace is kept, however late', async () => {
      const other = await joinOther();
      await redeemAs(other);
      driver?.advance(100_000);
      expect(await state.reap(shard, graceMs)).toBe(0);
      await other.join(shard, { declaration: undefined, leaseMs: 1000 });
      driver?.advance(graceMs + 1000);
      expect(await state.reap(shard, graceMs)).toBe(0);
      expect(await wallet()).toEqual(amounts(10n, 0n));
    });

    test('that has run out admits nothing until it is renewed', async () => {
      const other = await joinOther();
      driver?.advance(1000);
      expect(await outcome(redeemAs(other))).toEqual(unavailable);
      await other.join(shard, { declaration: undefined, leaseMs: 1000 });
      expect(await redeemAs(other)).toEqual(result('admitted'));
    });

    test('that was reaped is over: its process goes on as another', async () => {
      const other = await joinOther();
      const { client } = other.membership.caller(shard);
      await redeemAs(other);
      await reapOther();
      expect(await outcome(redeemAs(other, { holdId: 'next' }))).toEqual(unavailable);
      expect(other.membership.caller(shard).client).not.toBe(client);
      await joinAll(other);
      expect(await redeemAs(other, { holdId: 'next' })).toEqual(result('admitted'));
    });

    test('that is given up releases what it held at once', async () => {
      const other = await joinOther();
      await redeemAs(other);
      await other.leave(shard);
      expect(await wallet()).toEqual(amounts(0n, 0n));
      expect((await state.readMembers(shard)).clients).toEqual([state.membership.caller(shard).client]);
    });
  });
}
