import { StateUnavailableError, shards } from '@sotto/state';
import { until } from '@sotto/test-servers';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import {
  beginEpoch,
  joinAll,
  keyProjection,
  knownKey,
  leaseMs,
  openEpoch,
  outcome,
  putKeyIn,
  redeemOf,
  settlementOf,
} from '../fixtures.ts';
import {
  amounts,
  byTicket,
  type DrivenState,
  graceMs,
  place,
  result,
  shard,
  ticketAt,
  unavailable,
  walletId,
} from './world.ts';

export function epochSuite(driven: DrivenState): void {
  const { fund, fundKey, joinOther, mint, putKey, reapOther, redeem, redeemAs, settle, wallet } = driven;
  describe('an epoch', () => {
    const declaration = { payload: '{"holds": []}', mac: 'mac' };
    const restored = (holdId: string, amountNusd: bigint) => ({
      ...{ holdId, walletId, keyHash: 'key', amountNusd, month: '2026-01', budgetIds: [] },
    });
    const entry = (name: string) => ({ payload: `charge of ${name}`, mac: `mac of ${name}` });
    beforeEach(() => fundKey(100n));
    const end = async (epoch: number) => {
      await driven.state.discardEpoch(shard, epoch);
      await driven.state.beginEpoch(shard, epoch + 1);
    };

    test('that ended takes its holds and notes with it, and its tickets; wallets and keys stay', async () => {
      await mint();
      await redeem();
      await redeem({ holdId: 'charged' });
      await settle(3n, 'charged');
      await end(1);
      expect(await wallet()).toEqual(amounts(0n, 0n));
      expect(await outcome(redeem({ holdId: 'late' }))).toEqual(unavailable);
      await joinAll(driven.state);
      expect(await outcome(redeem({ holdId: 'early' }))).toEqual(unavailable);
      expect(await outcome(driven.state.peek(ticketAt(shard)))).toEqual(unavailable);
      expect(await driven.state.isOpen()).toBe(false);
      await driven.state.openEpoch(shard);
      expect(await driven.state.isOpen()).toBe(true);
      expect(await driven.state.peek(ticketAt(shard))).toBeUndefined();
      expect(await redeem({ holdId: 'by ticket', right: byTicket })).toEqual({ result: 'invalid_ticket' });
      expect(await redeem({ holdId: 'all', amountNusd: 100n })).toEqual(result('admitted'));
    });

    test('begins only where there is none, and is opened, ended and restored by its own number', async () => {
      expect(await driven.state.beginEpoch(shard, 9)).toBe(false);
      expect(await driven.state.discardEpoch(shard, 9)).toBe(false);
      expect(await redeem()).toEqual(result('admitted'));
    });

    test('admits a process that declares holds only after it restored them, and then with those holds', async () => {
      await redeem();
      await redeem({ holdId: 'charged' });
      await settle(3n, 'charged');
      await end(1);
      const control = await joinOther();
      const join = () => driven.state.join(shard, { declaration, leaseMs });
      expect(await outcome(join())).toEqual(unavailable);
      expect(await join()).toEqual({ result: 'declared', isOpen: false });
      const { client } = driven.state.membership.caller(shard);
      expect((await driven.state.readMembers(shard)).declared).toEqual([{ client, ...declaration }]);
      expect(await outcome(settle(1n))).toEqual(unavailable);
      const holds = [restored('hold', 10n)];
      const charges = [{ ...restored('charged', 3n), entry: entry('charged') }];
      expect(await control.admitDeclared(shard, client, { leaseMs, holds, charges })).toBe(true);
      expect(await control.admitDeclared(shard, client, { leaseMs, holds, charges })).toBe(false);
      await control.openEpoch(shard);
      expect(await wallet()).toEqual(amounts(10n, 3n));
      expect(await join()).toMatchObject({ result: 'joined', isOpen: true });
      expect((await driven.state.readMembers(shard)).declared).toEqual([]);
      const streamed = await driven.state.readSettlements(shard, '0-0', 9);
      expect(streamed.map(({ payload }) => payload)).toEqual(['charge of charged', 'charge of charged']);
      await settle(4n);
      expect(await wallet()).toEqual(amounts(0n, 7n));
    });

    test('wakes control when a process joins, and when one declares its holds', async () => {
      let woken = 0;
      const watch = driven.state.watchMembers(() => {
        woken += 1;
      });
      watch.start();
      onTestFinished(watch.stop);
      await end(1);
      await joinAll(driven.state);
      await until(() => woken > 0, 'it is woken by the process, or by the beginning of its connection');
      // Nothing else wakes a watch that has begun.
      const before = woken;
      const other = await joinOther();
      await until(() => woken > before, 'it is woken by the next process');
      await end(2);
      const joined = woken;
      await outcome(other.join(shard, { declaration, leaseMs }));
      expect(await other.join(shard, { declaration, leaseMs })).toMatchObject({ result: 'declared' });
      await until(() => woken > joined, 'it is woken by the declaration');
    });

    test('reaps nobody before it is open, so that what was declared is there when it opens', async () => {
      const other = await joinOther();
      await end(1);
      await joinAll(driven.state);
      await outcome(other.join(shard, { declaration, leaseMs: 1000 }));
      expect(await other.join(shard, { declaration, leaseMs: 1000 })).toMatchObject({ result: 'declared' });
      const { client } = other.membership.caller(shard);
      await driven.state.admitDeclared(shard, client, { leaseMs: 1000, holds: [restored('early', 10n)], charges: [] });
      expect(await reapOther()).toBe(0);
      await driven.state.openEpoch(shard);
      expect(await wallet()).toEqual(amounts(10n, 0n));
    });

    test('does not admit a process that renews a lease that it does not have', async () => {
      await end(1);
      const renew = () => driven.state.join(shard, { declaration: 'renewal', leaseMs });
      expect(await outcome(renew())).toEqual(unavailable);
      expect(await outcome(renew())).toEqual(unavailable);
      expect((await driven.state.readMembers(shard)).clients).toEqual([]);
      await joinAll(driven.state);
      expect(await renew()).toMatchObject({ result: 'joined' });
    });

    test('admits a late process beside the others', async () => {
      const other = await joinOther();
      await redeemAs(other, { holdId: 'of the other' });
      await end(1);
      await joinAll(driven.state);
      await driven.state.openEpoch(shard);
      expect(await redeem({ amountNusd: 95n })).toEqual(result('admitted'));
      await outcome(other.join(shard, { declaration, leaseMs }));
      expect(await other.join(shard, { declaration, leaseMs })).toEqual({ result: 'declared', isOpen: true });
      const { client } = other.membership.caller(shard);
      const holds = [restored('of the other', 10n)];
      await driven.state.admitDeclared(shard, client, { leaseMs, holds, charges: [] });
      expect(await wallet()).toEqual(amounts(105n, 0n));
      expect(await redeem({ holdId: 'one more', amountNusd: 0n })).toEqual(result('insufficient', { scope: 'wallet' }));
    });

    test('that ended is over for settlements too: they are taken when their broker has joined the next', async () => {
      await redeem();
      await end(1);
      expect(await outcome(settle(4n))).toEqual(unavailable);
      await joinAll(driven.state);
      expect(await outcome(settle(4n))).toEqual(unavailable);
      await driven.state.openEpoch(shard);
      expect(await settle(4n)).toMatchObject({ epoch: 2 });
    });
  });

  test('every shard works, by itself', async () => {
    await Promise.all(
      shards.map(async (each) => {
        const ids = { walletId: `wallet-${each}`, keyHash: `key-${each}`, holdId: `hold-${each}` };
        await driven.state.putWallet({ shard: each, walletId: ids.walletId, balanceNusd: 10n, version: 1 });
        await putKeyIn(driven.state, keyProjection({ shard: each, ...ids }));
        expect(await driven.state.lookupKey(ids.keyHash)).toEqual(knownKey({ shard: each, ...ids }));
        expect(await mint({ shard: each, ...ids })).toEqual({ result: 'minted' });
        expect(await driven.state.peek(ticketAt(each))).toBeDefined();
        const request = redeemOf({ shard: each, right: byTicket, holdId: ids.holdId });
        expect(await driven.state.redeem(request)).toEqual(result('admitted'));
        const settled = await driven.state.settle(settlementOf({ shard: each, holdId: ids.holdId, chargeNusd: 10n }));
        expect(settled).toEqual(place);
        expect(await driven.state.readSettlements(each, '0-0', 10)).toHaveLength(1);
        const booked = { shard: each, walletId: ids.walletId, balanceNusd: 0n, version: 2 };
        await driven.state.book({ wallet: booked, keys: [], budgets: [], holdIds: [ids.holdId] });
        await driven.state.acknowledge(each, settled?.streamId ?? '', driven.state.membership.caller(each));
        expect(await driven.state.watermark(each)).toEqual(settled);
        await driven.state.cancel(each, 'another');
        expect(await driven.state.reap(each, graceMs)).toBe(0);
        expect(await driven.state.readWallet(each, ids.walletId)).toEqual(amounts(0n, 0n));
      }),
    );
  });

  describe('before control has projected', () => {
    beforeEach(() => driven.driver?.reset());

    test('nothing is admitted, and no caller is told that a key or a ticket is wrong', async () => {
      const refusals = async () => {
        expect(await outcome(redeem())).toEqual(unavailable);
        expect(await outcome(redeem({ right: byTicket }))).toEqual(unavailable);
        expect(await outcome(driven.state.peek(ticketAt(shard)))).toEqual(unavailable);
        expect(await outcome(driven.state.lookupKey('unknown'))).toEqual(unavailable);
        expect(await outcome(mint())).toEqual(unavailable);
      };
      await refusals();
      expect(await outcome(fund(100n))).toEqual(unavailable);
      await beginEpoch(1, driven.state);
      await fundKey(100n);
      await refusals();
      await driven.state.openEpoch(shard);
      expect(await redeem()).toEqual(result('admitted'));
    });

    test('a key whose wallet is not there yet is not called poor', async () => {
      await openEpoch(driven.state);
      await putKey();
      expect(await mint()).toEqual({ result: 'not_projected' });
      expect(await wallet()).toBeUndefined();
      await expect(redeem()).rejects.toThrow(new StateUnavailableError('not projected'));
    });

    test('no ticket is made for a key that is not there yet, or not in this form: it would be called invalid', async () => {
      await openEpoch(driven.state);
      await fund(100n);
      expect(await mint()).toEqual({ result: 'not_projected' });
      await putKey({ generation: 2 });
      expect(await mint()).toEqual({ result: 'not_projected' });
      expect(await driven.state.peek(ticketAt(shard))).toBeUndefined();
    });

    test('it is not ready', async () => {
      expect([await driven.state.isOpen(), await driven.state.isReady()]).toEqual([false, false]);
      await openEpoch(driven.state);
      expect([await driven.state.isOpen(), await driven.state.isReady()]).toEqual([true, true]);
    });
  });
}

export function leaseSuite(driven: DrivenState): void {
  const { fundKey, joinOther, reapOther, redeem, redeemAs, wallet } = driven;
  describe('a lease', () => {
    beforeEach(() => fundKey(10_000n));

    test('that lapsed is reaped with all its holds, and no other’s', async () => {
      const other = await joinOther();
      const abandoned = Array.from({ length: 250 }, (_, index) => `abandoned-${index}`);
      await Promise.all(abandoned.map((holdId) => redeemAs(other, { holdId, amountNusd: 1n })));
      await redeem({ amountNusd: 7n });
      expect(await reapOther()).toBe(250);
      expect(await wallet()).toEqual(amounts(7n, 0n));
      expect(await driven.state.readOwnHolds(shard)).toEqual(['hold']);
    });

    test('that is renewed within the grace is kept, however late', async () => {
      const other = await joinOther();
      await redeemAs(other);
      driven.driver?.advance(100_000);
      expect(await driven.state.reap(shard, graceMs)).toBe(0);
      await other.join(shard, { declaration: undefined, leaseMs: 1000 });
      driven.driver?.advance(graceMs + 1000);
      expect(await driven.state.reap(shard, graceMs)).toBe(0);
      expect(await wallet()).toEqual(amounts(10n, 0n));
    });

    test('that has run out admits nothing until it is renewed', async () => {
      const other = await joinOther();
      driven.driver?.advance(1000);
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
      expect((await driven.state.readMembers(shard)).clients).toEqual([driven.state.membership.caller(shard).client]);
    });
  });
}
