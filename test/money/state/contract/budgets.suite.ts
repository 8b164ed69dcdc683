import { shards } from '@sotto/state';
import { beforeEach, describe, expect, test } from 'vitest';
import { keyProjection, leaseMs, putKeyIn, redeemOf } from '../fixtures.ts';
import { amounts, byKey, byTicket, type DrivenState, result, shard, walletId } from './world.ts';

const [team, alice, research, script] = ['workspace:team', 'member:alice', 'tag:research', 'key:script'];
const budgetIds = [team, alice, research, script];
const january = '2026-01';

export function budgetSuite(driven: DrivenState): void {
  const { fund, joinOther, mint, putKey, reapOther, redeem, redeemAs, settle, wallet } = driven;
  describe('a monthly budget', () => {
    let version = 0;
    const put = (budgetId: string, limitNusd: bigint, spentNusd = 0n, month = january) => {
      version += 1;
      const spent = [{ month, spentNusd }];
      return driven.state.putBudget({ shard, budgetId, limitNusd, version, keptSince: '2025-12', spent });
    };
    const remove = (budgetId: string) => {
      version += 1;
      return driven.state.removeBudget({ shard, budgetId, version, isNews: true });
    };
    const sumsOf = async (budgetId: string, month = january) => {
      const books = await driven.state.readBooks(shard, { walletIds: [], keyHashes: [], budgetIds: [budgetId] });
      return books.budgets.get(budgetId)?.months.get(month) ?? { spentNusd: 0n, openNusd: 0n, countedNusd: 0n };
    };
    const open = (nusd: bigint) => expect.objectContaining({ openNusd: nusd, countedNusd: nusd });
    const refusedBy = (scope: string, limitNusd: bigint, month = january, leftNusd?: bigint) =>
      result('insufficient', { scope: 'budget', budget: { scope, month, limitNusd, leftNusd } });
    /** Books charges, after which the budget has this spending. */
    const book = (holdIds: string[], budgetId: string, spentNusd: bigint, month = january) => {
      version += 1;
      const budgets = [{ budgetId, month, spentNusd }];
      return driven.state.book({
        wallet: { shard, walletId, balanceNusd: 1000n, version },
        keys: [],
        budgets,
        holdIds,
      });
    };

    beforeEach(async () => {
      version = 1;
      driven.driver?.moveTo(Date.parse('2026-01-31T23:58:00Z'));
      await fund(1000n);
      await putKey({ budgetIds });
      // The leases of the fixtures end an hour after they began, by the clock of then.
      for (const each of shards) await driven.state.join(each, { declaration: 'renewal', leaseMs });
    });

    test.each([
      ['workspace', team],
      ['member', alice],
      ['tag', research],
      ['key', script],
    ])('of a %s gives its last nano-dollar and not one more', async (scope, budgetId) => {
      await put(budgetId, 100n, 40n);
      // What is left of a budget that keys share would link them.
      const refused = (leftNusd: bigint) => refusedBy(scope, 100n, january, scope === 'key' ? leftNusd : undefined);
      expect(await redeem({ amountNusd: 61n })).toEqual(refused(60n));
      expect(await redeem({ amountNusd: 60n })).toEqual(result('admitted', { month: january }));
      expect(await redeem({ holdId: 'another', amountNusd: 1n })).toEqual(refused(0n));
      await put(budgetId, 101n, 40n);
      await mint();
      expect(await redeem({ right: byTicket, holdId: 'by ticket', amountNusd: 2n })).toEqual(
        result('insufficient', { scope: 'budget', budget: { scope, month: january } }),
      );
      await put(budgetId, 100n, 40n);
      expect(await wallet()).toEqual(amounts(60n, 0n));
      expect(await redeem({ holdId: 'free', amountNusd: 0n, free: true })).toEqual(result('admitted'));
    });

    test('that nobody knew keeps nothing out after a removal that is no news', async () => {
      await driven.state.removeBudget({ shard, budgetId: team, version: 9, isNews: false });
      await put(team, 5n);
      await putKey({ budgetIds: [team], generation: 2 });
      expect(await redeem({ generation: 2, amountNusd: 6n })).toEqual(refusedBy('workspace', 5n));
    });

    test('counts what is held, then charged, then booked, and gives back the rest', async () => {
      await put(team, 100n);
      await redeem({ amountNusd: 90n });
      expect(await sumsOf(team)).toEqual(open(90n));
      await settle(30n);
      expect(await sumsOf(team)).toEqual(open(30n));
      expect(await redeem({ holdId: 'another', amountNusd: 71n })).toEqual(refusedBy('workspace', 100n));
      await book(['hold'], team, 30n);
      expect(await sumsOf(team)).toEqual({ spentNusd: 30n, openNusd: 0n, countedNusd: 0n });
      expect(await redeem({ holdId: 'another', amountNusd: 71n })).toEqual(refusedBy('workspace', 100n));
      expect(await redeem({ holdId: 'another', amountNusd: 70n })).toEqual(result('admitted'));
      await driven.state.cancel(shard, 'another');
      expect(await sumsOf(team)).toEqual(open(0n));
    });

    test('never takes back spending, whatever arrives late', async () => {
      await put(team, 100n, 50n);
      await book([], team, 20n);
      expect(await sumsOf(team)).toEqual(expect.objectContaining({ spentNusd: 50n }));
      version = 0;
      await put(team, 1000n, 60n);
      expect(await redeem({ amountNusd: 41n })).toEqual(refusedBy('workspace', 100n));
    });

    test('begins anew with the month of Redis’ clock, and a late charge counts in the month of its hold', async () => {
      await put(team, 100n);
      expect(await redeem({ amountNusd: 100n })).toEqual(result('admitted', { month: january }));
      driven.driver?.advance(180_000);
      expect(await redeem({ holdId: 'next', amountNusd: 100n })).toEqual(result('admitted', { month: '2026-02' }));
      // Sent again, because the answer was lost: the month is that of the hold.
      expect(await redeem({ amountNusd: 100n })).toEqual(result('admitted', { month: january }));
      await settle(80n);
      expect([await sumsOf(team), await sumsOf(team, '2026-02')]).toEqual([open(80n), open(100n)]);
      await settle(0n, 'next');
      expect(await redeem({ holdId: 'all', amountNusd: 101n })).toEqual(refusedBy('workspace', 100n, '2026-02'));
      await book(['hold'], team, 80n);
      expect(await redeem({ holdId: 'all', amountNusd: 100n })).toEqual(result('admitted'));
    });

    test.each([
      ['2024-02-29T23:58:00Z', '2024-02'],
      ['2024-03-01T00:00:00Z', '2024-03'],
      ['2026-12-31T23:58:00Z', '2026-12'],
      ['2027-01-01T00:00:00Z', '2027-01'],
      ['2100-02-28T23:58:00Z', '2100-02'],
      ['2100-03-01T00:00:00Z', '2100-03'],
    ])('at %s is the budget of %s', async (at, month) => {
      driven.driver?.moveTo(Date.parse(at));
      for (const each of shards) await driven.state.join(each, { declaration: 'renewal', leaseMs });
      expect(await redeem()).toEqual(result('admitted', { month }));
    });

    test('covers what was held and charged before it existed', async () => {
      await redeem({ holdId: 'held', amountNusd: 30n });
      await redeem({ holdId: 'charged', amountNusd: 30n });
      await settle(20n, 'charged');
      await put(team, 60n);
      expect(await sumsOf(team)).toEqual(open(50n));
      expect(await redeem({ amountNusd: 11n })).toEqual(refusedBy('workspace', 60n));
      expect(await redeem({ amountNusd: 10n })).toEqual(result('admitted'));
    });

    test('that is lowered below what is held admits nothing until enough is returned', async () => {
      await put(team, 100n);
      await redeem({ amountNusd: 80n });
      await put(team, 50n);
      expect(await redeem({ holdId: 'another', amountNusd: 1n })).toEqual(refusedBy('workspace', 50n));
      await settle(10n);
      expect(await redeem({ holdId: 'another', amountNusd: 40n })).toEqual(result('admitted'));
    });

    test('that is removed limits nothing, and counts everything if it is set again', async () => {
      await put(team, 10n);
      await redeem({ amountNusd: 10n });
      await remove(team);
      expect(await redeem({ holdId: 'another', amountNusd: 500n })).toEqual(result('admitted'));
      await put(team, 511n);
      expect(await redeem({ holdId: 'more', amountNusd: 2n })).toEqual(refusedBy('workspace', 511n));
      expect(await redeem({ holdId: 'more', amountNusd: 1n })).toEqual(result('admitted'));
    });

    test.each([
      ['workspace', team, 'workspace:other'],
      ['tag', research, 'tag:sales'],
    ])('of a %s still counts a hold after its key was moved to another one', async (scope, before, after) => {
      const sums = async () => [await sumsOf(before), await sumsOf(after)];
      await put(before, 100n);
      await put(after, 100n);
      await redeem({ amountNusd: 70n });
      await mint();
      await putKey({ generation: 2, budgetIds: [after] });
      expect(await sums()).toEqual([open(70n), open(0n)]);
      // The ticket was sealed for the budget of before, in which its charge would be booked.
      expect(await redeem({ right: byTicket, holdId: 'by ticket' })).toEqual({ result: 'invalid_ticket' });
      expect(await redeem({ holdId: 'stale' })).toEqual(result('stale_key'));
      await settle(60n);
      expect(await sums()).toEqual([open(60n), open(0n)]);
      expect(await redeem({ generation: 2, holdId: 'another', amountNusd: 100n })).toEqual(result('admitted'));
      expect(await redeem({ generation: 2, holdId: 'more', amountNusd: 1n })).toEqual(refusedBy(scope, 100n));
      await book(['hold'], before, 60n);
      expect(await sums()).toEqual([{ spentNusd: 60n, openNusd: 0n, countedNusd: 0n }, open(100n)]);
    });

    test('counts a charge that arrives after its broker was given up', async () => {
      await put(team, 100n);
      await redeemAs(await joinOther(), { amountNusd: 90n });
      expect(await reapOther()).toBe(1);
      expect(await sumsOf(team)).toEqual(open(0n));
      driven.driver?.advance(180_000);
      await settle(90n);
      expect(await sumsOf(team)).toEqual(open(90n));
    });

    test('counts what a rebuild restores, in the months that the holds had', async () => {
      await put(team, 100n);
      await redeem({ amountNusd: 10n });
      await driven.state.discardEpoch(shard, 1);
      await driven.state.beginEpoch(shard, 2);
      expect(await sumsOf(team)).toEqual(open(0n));
      await driven.state.join(shard, { declaration: undefined, leaseMs }).catch(() => {});
      await driven.state.join(shard, { declaration: undefined, leaseMs });
      const restored = { walletId, keyHash: 'key', amountNusd: 40n, budgetIds };
      await driven.state.admitDeclared(shard, 'broker', {
        leaseMs,
        holds: [{ ...restored, holdId: 'declared', month: '2025-12' }],
        charges: [{ ...restored, holdId: 'charged', month: january, entry: { payload: 'charge', mac: 'mac' } }],
      });
      await driven.state.openEpoch(shard);
      expect([await sumsOf(team), await sumsOf(team, '2025-12')]).toEqual([open(40n), open(40n)]);
      await book(['charged'], team, 40n);
      expect(await sumsOf(team)).toEqual({ spentNusd: 40n, openNusd: 0n, countedNusd: 0n });
    });

    test('refuses the minting of tickets once nothing is left, and tells brokers no amount of a ticket’s owner', async () => {
      await put(alice, 20n);
      expect(await mint()).toEqual({ result: 'minted' });
      await redeem({ amountNusd: 20n });
      const budget = { scope: 'member', month: january, limitNusd: 20n };
      expect(await redeem({ right: byTicket, holdId: 'by ticket' })).toEqual(
        result('insufficient', { scope: 'budget', budget: { ...budget, limitNusd: undefined } }),
      );
      expect(await mint()).toEqual({ result: 'over_budget', budget });
      expect(await mint({ free: true })).toEqual({ result: 'minted' });
    });

    test.each([
      ['of a member', alice],
      ['with a tag', research],
    ])('200 at once by several keys %s against a budget for 20: exactly 20 are admitted', async (_, limited) => {
      await joinOther();
      for (const each of shards) await driven.driver?.other.join(each, { declaration: 'renewal', leaseMs });
      const keys = ['key', 'second', 'third'];
      for (const keyHash of keys.slice(1)) {
        const of = { shard, keyHash, walletId, budgetIds: [team, limited, `key:${keyHash}`] };
        await putKeyIn(driven.state, keyProjection(of));
      }
      await put(limited, 205n);
      await fund(1_000_000n, 99);
      const replies = await Promise.all(
        Array.from({ length: 200 }, (_, index) => {
          const from = index % 2 === 0 ? driven.state : driven.driver?.other;
          const right = { ...byKey, keyHash: keys[index % keys.length] ?? '' };
          return from?.redeem(redeemOf({ shard, right, holdId: `hold-${index}`, walletId }));
        }),
      );
      expect(replies.filter((reply) => reply?.result === 'admitted')).toHaveLength(20);
      expect(replies.filter((reply) => reply?.result === 'insufficient')).toHaveLength(180);
      expect(await sumsOf(limited)).toEqual(open(200n));
    });

    test('refuses numbers that would forge the books', async () => {
      await expect(put(team, -1n)).rejects.toThrow(RangeError);
      await expect(put(team, 1n, -1n)).rejects.toThrow(RangeError);
      await expect(put(team, 1n, 1n, '2026-13')).rejects.toThrow(RangeError);
    });
  });
}
