import { maxNusd } from '@sotto/money';
import { beforeEach, describe, expect, test } from 'vitest';
import { knownKey, redeemOf, settlementOf } from '../fixtures.ts';
import { amounts, byKey, byTicket, type DrivenState, graceMs, place, result, shard, walletId } from './world.ts';

export function redeemSuite(driven: DrivenState): void {
  const { fund, fundKey, joinOther, mint, putKey, reapOther, redeem, redeemAs, removeKey, settle, wallet } = driven;
  describe('a redeem', () => {
    beforeEach(() => fundKey(100n));

    test('holds the amount, once however often it is repeated', async () => {
      const first = await redeem();
      expect(first).toEqual(result('admitted', { rate: expect.objectContaining({ remainingRequests: 999_999 }) }));
      expect(await redeem()).toEqual(
        result('admitted', { rate: expect.objectContaining({ remainingRequests: 999_999 }) }),
      );
      expect(await wallet()).toEqual(amounts(10n, 0n));
    });

    test('takes the last nano-dollar of a wallet and not one more', async () => {
      expect(await redeem({ amountNusd: 101n })).toEqual(result('insufficient', { scope: 'wallet' }));
      expect(await redeem({ amountNusd: 100n })).toEqual(result('admitted'));
      expect(await redeem({ holdId: 'another', amountNusd: 1n })).toEqual(result('insufficient', { scope: 'wallet' }));
    });

    test("takes the last nano-dollar of a key's limit and not one more", async () => {
      await putKey({ limitFundsNusd: 10n, fundsVersion: 2 });
      await mint();
      // Only the key is told what is left.
      const byTicketOf = { right: byTicket, holdId: 'by ticket', amountNusd: 11n };
      const refused = await redeem(byTicketOf);
      expect(refused).toEqual(result('insufficient', { scope: 'key' }));
      expect(refused).not.toHaveProperty('leftNusd');
      expect(await redeem({ amountNusd: 11n })).toEqual(result('insufficient', { scope: 'key', leftNusd: 10n }));
      expect(await redeem({ amountNusd: 10n })).toEqual(result('admitted'));
      const another = { holdId: 'another', amountNusd: 1n };
      expect(await redeem(another)).toEqual(result('insufficient', { scope: 'key', leftNusd: 0n }));
    });

    // A rounded hold would take money that is not there, if it were compared with the bound alone: then a second request that
    // runs at the same time finds less than nothing available.
    test('that is rounded up holds what is available of it, and never less than its bound', async () => {
      const asked = { amountNusd: 10n, roundedNusd: 64n };
      const held = (heldNusd: bigint) => result('admitted', { heldNusd });
      expect(await redeem(asked)).toEqual(held(64n));
      // Repeated, after the answer was lost.
      expect(await redeem(asked)).toEqual(held(64n));
      expect(await wallet()).toEqual(amounts(64n, 0n));
      expect(await redeem({ ...asked, holdId: 'another' })).toEqual(held(36n));
      expect(await redeem({ holdId: 'third', amountNusd: 1n, roundedNusd: 64n })).toEqual(
        result('insufficient', { scope: 'wallet' }),
      );
      await settle(7n);
      await driven.state.cancel(shard, 'another');
      expect(await wallet()).toEqual(amounts(0n, 7n));
      await putKey({ limitFundsNusd: 50n, fundsVersion: 2 });
      expect(await redeem({ ...asked, holdId: 'limited' })).toEqual(held(43n));
      await expect(redeem({ holdId: 'odd', amountNusd: 2n, roundedNusd: 1n })).rejects.toThrow(RangeError);
    });

    test('counts what is charged but not booked as spent', async () => {
      await redeem({ amountNusd: 60n });
      await settle(60n);
      expect(await redeem({ holdId: 'another', amountNusd: 41n })).toEqual(result('insufficient', { scope: 'wallet' }));
      expect(await redeem({ holdId: 'another', amountNusd: 40n })).toEqual(result('admitted'));
      await putKey({ limitFundsNusd: 100n, fundsVersion: 2 });
      await fund(1000n, 2);
      expect(await redeem({ holdId: 'more', amountNusd: 1n })).toEqual(result('insufficient', { scope: 'key' }));
      await driven.state.cancel(shard, 'another');
      expect(await redeem({ holdId: 'more', amountNusd: 41n })).toEqual(result('insufficient', { scope: 'key' }));
      expect(await redeem({ holdId: 'more', amountNusd: 40n })).toEqual(result('admitted'));
    });

    test('of nothing, for a free route, can be ended in every way', async () => {
      await fund(0n, 2);
      for (const holdId of ['settled', 'cancelled']) {
        expect(await redeem({ holdId, amountNusd: 0n })).toEqual(result('admitted'));
      }
      expect(await redeemAs(await joinOther(), { holdId: 'reaped', amountNusd: 0n })).toEqual(result('admitted'));
      expect(await settle(0n, 'settled')).toEqual(place);
      await driven.state.cancel(shard, 'cancelled');
      expect(await reapOther()).toBe(1);
      expect(await driven.state.reap(shard, graceMs)).toBe(0);
      expect(await wallet()).toEqual(amounts(0n, 0n));
    });

    test('is exact to the nano-dollar at the largest amounts', async () => {
      await fund(maxNusd, 2);
      expect(await redeem({ holdId: 'most', amountNusd: maxNusd - 1n })).toEqual(result('admitted'));
      expect(await redeem({ amountNusd: 2n })).toEqual(result('insufficient', { scope: 'wallet' }));
      expect(await redeem({ amountNusd: 1n })).toEqual(result('admitted'));
      expect(await wallet()).toEqual(amounts(maxNusd, 0n));
      await settle(maxNusd - 2n, 'most');
      expect(await wallet()).toEqual(amounts(1n, maxNusd - 2n));
      expect(await redeem({ holdId: 'rest', amountNusd: 2n })).toEqual(result('insufficient', { scope: 'wallet' }));
      expect(await redeem({ holdId: 'rest', amountNusd: 1n })).toEqual(result('admitted'));
    });

    test('counts the largest numbers of tokens exactly', async () => {
      const limitTokens = Number.MAX_SAFE_INTEGER;
      await putKey({ generation: 2, limitTokens });
      expect(await redeem({ generation: 2, estimatedTokens: limitTokens - 3 })).toEqual(
        result('admitted', { rate: expect.objectContaining({ limitTokens, remainingTokens: 3 }) }),
      );
      await driven.state.settle(settlementOf({ shard, holdId: 'hold', chargeNusd: 0n, usedTokens: limitTokens - 5 }));
      expect(await redeem({ generation: 2, holdId: 'next', estimatedTokens: 2 })).toEqual(
        result('admitted', { rate: expect.objectContaining({ limitTokens, remainingTokens: 3 }) }),
      );
    });

    test('is closed after a cancel, a settlement or a release, whether or not it had arrived', async () => {
      await redeem({ holdId: 'cancelled' });
      await redeem({ holdId: 'settled' });
      await driven.state.cancel(shard, 'cancelled');
      await settle(3n, 'settled');
      await driven.state.cancel(shard, 'cancelled early');
      await settle(3n, 'settled early');
      await driven.state.settle({
        ...settlementOf({ shard, holdId: 'released early', chargeNusd: 0n }),
        entry: undefined,
      });
      for (const holdId of ['cancelled', 'settled', 'cancelled early', 'settled early', 'released early']) {
        expect(await redeem({ holdId }), holdId).toEqual({ result: 'closed' });
      }
      expect(await wallet()).toEqual(amounts(0n, 3n));
    });

    test('with an older plan gets the key as it is now', async () => {
      await putKey({ generation: 2 });
      const key = knownKey({ shard, keyHash: 'key', walletId, generation: 2 });
      expect(await redeem({ generation: 1 })).toEqual({ result: 'stale_key', key });
      expect(await redeem({ generation: 2 })).toEqual(result('admitted'));
    });

    test('by a key that is unknown or revoked is refused', async () => {
      expect(await redeem({ right: { kind: 'key', keyHash: 'other' } })).toEqual({ result: 'unknown_key' });
      await removeKey(2);
      expect(await redeem({ generation: 2 })).toEqual({ result: 'unknown_key' });
    });

    test('is limited by the requests and the tokens of its minute', async () => {
      await putKey({ generation: 2, limitRequests: 3, limitTokens: 50 });
      const next = (holdId: string, estimatedTokens: number) => redeem({ generation: 2, holdId, estimatedTokens });
      const end = (holdId: string, usedTokens: number) =>
        driven.state.settle(settlementOf({ shard, holdId, chargeNusd: 0n, usedTokens }));
      const rate = { limitRequests: 3, limitTokens: 50, resetMs: expect.any(Number) };
      const first = await next('first', 60);
      expect(first).toEqual({
        result: 'admitted',
        month: expect.any(String),
        rate: { ...rate, remainingRequests: 2, remainingTokens: 0 },
      });
      const resetMs = first.result === 'admitted' ? first.rate.resetMs : 0;
      expect(resetMs).toBeGreaterThan(50_000);
      expect(resetMs).toBeLessThanOrEqual(60_000);
      expect(await next('second', 1)).toEqual(result('rate_limited', { by: 'tokens' }));
      await end('first', 20);
      expect(await next('second', 31)).toEqual(result('rate_limited', { by: 'tokens' }));
      expect(await next('second', 30)).toEqual(
        result('admitted', { rate: { ...rate, remainingRequests: 1, remainingTokens: 0 } }),
      );
      await end('second', 0);
      expect(await next('third', 30)).toEqual(result('admitted'));
      expect(await next('fourth', 0)).toEqual(result('rate_limited', { by: 'requests' }));

      driven.driver?.advance(60_000);
      expect(await next('fourth', 40)).toEqual(
        result('admitted', { rate: { ...rate, remainingRequests: 2, remainingTokens: 10 } }),
      );
      // Requests of the minute before do not count in this minute.
      await end('third', 0);
      expect(await next('fifth', 0)).toEqual(
        result('admitted', { rate: { ...rate, remainingRequests: 1, remainingTokens: 10 } }),
      );
    });

    test('refuses numbers that would forge the books', async () => {
      for (const request of [
        { amountNusd: -1n },
        { amountNusd: maxNusd + 1n },
        { estimatedTokens: Number.NaN },
        { estimatedTokens: 0.5 },
      ]) {
        await expect(redeem(request)).rejects.toThrow(RangeError);
      }
      await redeem();
      await expect(settle(-1n)).rejects.toThrow(RangeError);
      await expect(fund(maxNusd + 1n, 2)).rejects.toThrow(RangeError);
      expect(await wallet()).toEqual(amounts(10n, 0n));
    });

    test('never tells the broker whose wallet it is or how much is in it', async () => {
      await mint();
      const replies = [
        await redeem({ right: byTicket }),
        await redeem({ right: byTicket, holdId: '2' }),
        await redeem({ holdId: '3', generation: 9 }),
        await redeem({ holdId: '4', amountNusd: 91n }),
        await driven.state.lookupKey('key'),
        await settle(1n),
        await redeem(),
      ];
      expect(JSON.stringify(replies)).not.toContain(walletId);
      expect(replies[3]).toEqual({ result: 'insufficient', scope: 'wallet', rate: expect.anything() });
    });

    test('50 at once with one ticket: one is admitted', async () => {
      await joinOther();
      await mint();
      const replies = await Promise.all(
        Array.from({ length: 50 }, (_, index) => {
          const from = index % 2 === 0 ? driven.state : driven.driver?.other;
          return from?.redeem(redeemOf({ shard, right: byTicket, holdId: `hold-${index}`, walletId }));
        }),
      );
      const results = replies.map((reply) => reply?.result);
      expect(results.filter((reply) => reply === 'admitted')).toHaveLength(1);
      expect(results.filter((reply) => reply === 'invalid_ticket')).toHaveLength(49);
      expect(await wallet()).toEqual(amounts(10n, 0n));
    });

    test('200 at once against money for 20: exactly 20 are admitted', async () => {
      await joinOther();
      await fund(205n, 2);
      const replies = await Promise.all(
        Array.from({ length: 200 }, (_, index) => {
          const from = index % 2 === 0 ? driven.state : driven.driver?.other;
          return from?.redeem(redeemOf({ shard, right: byKey, holdId: `hold-${index}`, walletId }));
        }),
      );
      expect(replies.filter((reply) => reply?.result === 'admitted')).toHaveLength(20);
      expect(replies.filter((reply) => reply?.result === 'insufficient')).toHaveLength(180);
      expect(await wallet()).toEqual(amounts(200n, 0n));
    });
  });
}
