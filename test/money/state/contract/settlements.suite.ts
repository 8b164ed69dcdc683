import { setTimeout as sleep } from 'node:timers/promises';
import { StateUnavailableError } from '@sotto/state';
import { until } from '@sotto/test-servers';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { settlementOf } from '../fixtures.ts';
import { amounts, type DrivenState, place, result, shard, walletId } from './world.ts';

export function settlementSuite(driven: DrivenState): void {
  const { book, fund, fundKey, joinOther, putKey, reapOther, redeem, redeemAs, settle, wallet } = driven;
  describe('a reservation', () => {
    const asked = { shard, noteId: 'reservation:1', walletId, balanceNusd: 100n, alone: false };
    beforeEach(() => fundKey(100n));

    test('leaves what is held and unbooked, counts as unbooked, and ends with its booking', async () => {
      await redeem({ holdId: 'held', amountNusd: 30n });
      await redeem({ holdId: 'charged', amountNusd: 30n });
      await settle(20n, 'charged');
      expect(await driven.state.reserve({ ...asked, amountNusd: 51n })).toEqual({ result: 'insufficient' });
      expect(await driven.state.reserve({ ...asked, amountNusd: 50n })).toEqual({ result: 'reserved', epoch: 1 });
      expect(await redeem({ amountNusd: 1n })).toEqual(result('insufficient'));
      expect(await wallet()).toEqual(amounts(30n, 70n));
      for (let times = 0; times < 2; times += 1) {
        await book(50n, 2, [asked.noteId]);
        expect(await wallet()).toEqual({ fundsNusd: 50n, heldNusd: 30n, unbookedNusd: 20n });
      }
    });

    test('cannot exceed a balance that the state does not have yet', async () => {
      expect(await driven.state.reserve({ ...asked, amountNusd: 60n, balanceNusd: 59n })).toEqual({
        result: 'insufficient',
      });
      expect(await driven.state.reserve({ ...asked, amountNusd: 59n, balanceNusd: 59n })).toEqual(result('reserved'));
    });

    test('that must be alone waits for holds and charges', async () => {
      const all = { ...asked, amountNusd: 0n, alone: true };
      await redeem();
      expect(await driven.state.reserve(all)).toEqual({ result: 'busy' });
      await settle(1n);
      expect(await driven.state.reserve(all)).toEqual({ result: 'busy' });
      await book(99n, 2, ['hold']);
      expect(await driven.state.reserve(all)).toEqual(result('reserved'));
    });

    test('of a wallet that is not projected, or in a closed epoch, gets no answer', async () => {
      await expect(driven.state.reserve({ ...asked, walletId: 'unknown', amountNusd: 0n })).rejects.toThrow(
        'not projected',
      );
      await driven.state.discardEpoch(shard, 1);
      await driven.state.beginEpoch(shard, 2);
      await expect(driven.state.reserve({ ...asked, amountNusd: 0n })).rejects.toThrow();
    });
  });

  describe('a settlement', () => {
    beforeEach(async () => {
      await fund(100n);
      await putKey({ limitFundsNusd: 50n });
      await redeem();
    });

    test('charges, releases the rest and tells the ledger', async () => {
      const settled = await settle(4n);
      expect(settled).toEqual(place);
      expect(await wallet()).toEqual(amounts(0n, 4n));
      expect(await driven.state.readSettlements(shard, '0-0', 10)).toEqual([
        { streamId: settled?.streamId, payload: 'charge of hold', mac: 'mac of hold' },
      ]);
    });

    test('wakes who watches, who then reads until there is none', async () => {
      let woken = 0;
      const watch = driven.state.watchSettlements(() => {
        woken += 1;
      });
      watch.start();
      onTestFinished(watch.stop);
      await settle(4n);
      await until(() => woken > 0, 'it is woken by the settlement, or by the beginning of its connection');
      const { entries, reader } = await driven.state.takeSettlements(shard, '0-0', 10);
      await driven.state.acknowledge(shard, entries.at(-1)?.streamId ?? '', reader);
      // Nothing else wakes a watch that has begun.
      const before = woken;
      await redeem({ holdId: 'next' });
      await settle(4n, 'next');
      await until(() => woken > before, 'it is woken by the next settlement');
    });

    test('of nothing releases everything, and without an entry does not reach the ledger', async () => {
      const release = { ...settlementOf({ shard, holdId: 'hold', chargeNusd: 0n }), entry: undefined };
      expect(await driven.state.settle(release)).toBeUndefined();
      expect(await wallet()).toEqual(amounts(0n, 0n));
      expect(await driven.state.readSettlements(shard, '0-0', 10)).toEqual([]);
    });

    test('sent twice is told twice and charged once', async () => {
      await settle(4n);
      await settle(4n);
      expect(await wallet()).toEqual(amounts(0n, 4n));
      expect(await driven.state.readSettlements(shard, '0-0', 10)).toHaveLength(2);
    });

    test('of a hold that was reaped is told to the ledger all the same, and counts until it is booked', async () => {
      await redeemAs(await joinOther(), { holdId: 'short' });
      expect(await reapOther()).toBe(1);
      expect(await settle(4n, 'short')).toEqual(place);
      expect(await settle(4n, 'short')).toEqual(place);
      expect(await wallet()).toEqual(amounts(10n, 4n));
      await book(96n, 2, ['short']);
      expect(await settle(4n, 'short')).toEqual(place);
      expect(await wallet()).toEqual(amounts(10n, 0n));
    });

    test('of a hold that never was is told to the ledger, and no redeem of it comes after', async () => {
      expect(await settle(4n, 'never')).toEqual(place);
      expect(await wallet()).toEqual(amounts(10n, 0n));
      expect(await redeem({ holdId: 'never' })).toEqual({ result: 'closed' });
    });

    test.each([Number.NaN, -1, 0.5, 2 ** 60])(
      'is taken whatever its count of tokens: %d counts as all',
      async (usedTokens) => {
        await driven.state.settle(settlementOf({ shard, holdId: 'hold', chargeNusd: 4n, usedTokens }));
        expect(await wallet()).toEqual(amounts(0n, 4n));
        expect(await redeem({ holdId: 'next' })).toEqual(result('rate_limited', { by: 'tokens' }));
        driven.driver?.advance(60_000);
        expect(await redeem({ holdId: 'next' })).toEqual(result('admitted'));
      },
    );

    test('is carried exactly, whatever it holds', async () => {
      const entry = { payload: 'm', mac: 'p\r\n\u0000"é' };
      await driven.state.settle({ ...settlementOf({ shard, holdId: 'hold', chargeNusd: 1n }), entry });
      expect(await driven.state.readSettlements(shard, '0-0', 10)).toEqual([expect.objectContaining(entry)]);
    });

    test('once booked is part of the balance, for the wallet and for the key', async () => {
      await settle(10n);
      const booking = {
        wallet: { shard, walletId, balanceNusd: 90n, version: 2 },
        keys: [{ keyHash: 'key', limitFundsNusd: 40n, version: 2 }],
        budgets: [],
        holdIds: ['hold', 'unknown'],
      };
      await driven.state.book(booking);
      await driven.state.book(booking);
      expect(await wallet()).toEqual(amounts(0n, 0n));
      expect(await redeem({ holdId: 'next', amountNusd: 41n })).toEqual(result('insufficient', { scope: 'key' }));
      expect(await redeem({ holdId: 'next', amountNusd: 40n })).toEqual(result('admitted'));
      await putKey({ generation: 2, fundsVersion: 3 });
      const rest = { holdId: 'rest', generation: 2 };
      expect(await redeem({ ...rest, amountNusd: 51n })).toEqual(result('insufficient', { scope: 'wallet' }));
      expect(await redeem({ ...rest, amountNusd: 50n })).toEqual(result('admitted'));
    });

    test('of an unknown account is forgotten: its money is available again, and holds that were not noted stay', async () => {
      await settle(10n);
      await driven.state.forget(shard, ['hold', 'unknown']);
      await driven.state.forget(shard, ['hold']);
      await driven.state.forget(shard, []);
      expect(await wallet()).toEqual(amounts(0n, 0n));
      expect(await redeem({ holdId: 'next', amountNusd: 50n })).toEqual(result('admitted'));
      await driven.state.forget(shard, ['next']);
      expect(await wallet()).toEqual(amounts(50n, 0n));
    });

    test('booked late never undoes a newer balance', async () => {
      await settle(10n);
      await fund(500n, 3);
      await book(90n, 2, ['hold']);
      await putKey({ generation: 2, fundsVersion: 2 });
      expect(await redeem({ holdId: 'next', generation: 2, amountNusd: 500n })).toEqual(result('admitted'));
    });

    test('many are booked in one call', async () => {
      await fund(100_000n, 2);
      await putKey({ fundsVersion: 2 });
      const holdIds = Array.from({ length: 2000 }, (_, index) => `hold-${index}`);
      await Promise.all(holdIds.map((holdId) => redeem({ holdId })));
      await Promise.all(holdIds.map((holdId) => settle(1n, holdId)));
      expect(await wallet()).toEqual(amounts(10n, 2000n));
      await book(98_000n, 3, holdIds);
      expect(await wallet()).toEqual(amounts(10n, 0n));
    });

    test('is read page by page, and acknowledged forwards only', async () => {
      expect(await driven.state.watermark(shard)).toEqual({ streamId: '0-0', epoch: 1 });
      for (const holdId of ['a', 'b', 'c']) await settle(0n, holdId);
      const [a, b] = await driven.state.readSettlements(shard, '0-0', 2);
      const [c, ...rest] = await driven.state.readSettlements(shard, b?.streamId ?? '', 10);
      expect([a, b, c].map((entry) => entry?.payload)).toEqual(['charge of a', 'charge of b', 'charge of c']);
      expect(rest).toEqual([]);
      const { entries, reader } = await driven.state.takeSettlements(shard, '0-0', 2);
      expect(entries).toEqual([a, b]);
      for (const earlier of [{ client: 'control.before' }, { epoch: 0 }])
        await expect(driven.state.acknowledge(shard, b?.streamId ?? '', { ...reader, ...earlier })).rejects.toThrow(
          StateUnavailableError,
        );
      expect(await driven.state.watermark(shard)).toEqual({ streamId: '0-0', epoch: 1 });
      await driven.state.acknowledge(shard, b?.streamId ?? '', reader);
      await driven.state.acknowledge(shard, a?.streamId ?? '', reader);
      expect(await driven.state.watermark(shard)).toEqual({ streamId: b?.streamId, epoch: 1 });
      expect(await driven.state.readSettlements(shard, '0-0', 10)).toEqual([c]);
      expect(await driven.state.readSettlements(shard + 1, '0-0', 10)).toEqual([]);
    });
  });
}

export function receiptSuite(driven: DrivenState): void {
  describe('a receipt', () => {
    const id = 'preq_0123456789abcdef';

    test('is read by every process that knows its id, by its kind and id alone, and the last one kept counts', async () => {
      expect(await driven.state.readReceipt('provider', id)).toBeUndefined();
      await driven.state.keepReceipt('provider', id, '{"first":true}', 60_000);
      await driven.state.keepReceipt('provider', id, '{"last":true}', 60_000);
      expect(await driven.driver?.other.readReceipt('provider', id)).toBe('{"last":true}');
      expect(await driven.state.readReceipt('gateway', id)).toBeUndefined();
      expect(await driven.state.readReceipt('provider', `${id}0`)).toBeUndefined();
    });

    test('is gone when its time is up, whatever is kept after it', async () => {
      await driven.state.keepReceipt('gateway', id, 'soon gone', 300);
      await driven.state.keepReceipt('gateway', `${id}-other`, 'stays', 60_000);
      driven.driver?.advance(300);
      await sleep(320);
      expect(await driven.state.readReceipt('gateway', id)).toBeUndefined();
      expect(await driven.state.readReceipt('gateway', `${id}-other`)).toBe('stays');
    });

    test.each([
      ['id', ['short', '{}', 1]],
      ['id', [`${id}:other`, '{}', 1]],
      ['document', [id, 'x'.repeat(32_769), 1]],
      ['ttlMs', [id, '{}', 0]],
      ['ttlMs', [id, '{}', Number.NaN]],
    ] as const)('is refused where its %s is out of bounds', async (field, [name, document, ttlMs]) => {
      const kept = driven.state.keepReceipt('gateway', name, document, ttlMs);
      await expect(kept).rejects.toThrow(new RangeError(`${field} is out of bounds`));
    });
  });
}
