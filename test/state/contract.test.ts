import { setTimeout as sleep } from 'node:timers/promises';
import { maxNusd } from '@sotto/money';
import type { Penalty } from '@sotto/router';
import {
  type CatalogSnapshot,
  maxMeasurementRecords,
  type RedeemRequest,
  type State,
  StateUnavailableError,
  shards,
} from '@sotto/state';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { redisSkipReason } from '../kit/redis.ts';
import { noteSkip } from '../kit/skips.ts';
import { type Driver, drivers } from './drivers.ts';
import {
  beginEpoch,
  joinAll,
  keyProjection,
  keyRecord,
  leaseMs,
  openEpoch,
  outcome,
  redeemOf,
  settlementOf,
} from './fixtures.ts';

const shard = 5;
const walletId = 'wallet-secret';
const byKey = { kind: 'key', keyHash: 'key' } as const;
const byTicket = { kind: 'ticket', ticketHash: 'ticket' } as const;
const unavailable = { unavailable: true };
const graceMs = 5_000;
const place = { streamId: expect.any(String), epoch: 1 };

describe.each(drivers)('the state in $name', ({ name, start }) => {
  let driver: Driver | undefined;
  let state: State;
  beforeAll(async () => {
    driver = await start();
    if (driver === undefined) noteSkip(`the contract of the state on ${name}`, redisSkipReason);
  });
  afterAll(() => driver?.stop());
  beforeEach(async (context) => {
    if (driver === undefined) return context.skip(`no ${name}`);
    await driver.reset();
    state = driver.state;
    await openEpoch(state);
  });

  const fund = (balanceNusd: bigint, version = 1) => state.putWallet({ shard, walletId, balanceNusd, version });
  const putKey = (changes: Parameters<typeof keyProjection>[0] | object = {}) =>
    state.putKey(keyProjection({ shard, keyHash: 'key', walletId, ...changes }));
  const mint = (ttlMs = 60_000) =>
    state.mint({ shard, ticketHash: 'ticket', walletId, keyHash: 'key', generation: 1, ttlMs });
  const redeem = (request: Partial<RedeemRequest> = {}) =>
    state.redeem(redeemOf({ shard, right: byKey, holdId: 'hold', ...request }));
  const settle = (chargeNusd: bigint, holdId = 'hold') => state.settle(settlementOf({ shard, holdId, chargeNusd }));
  const wallet = () => state.readWallet(shard, walletId);
  /** Another process, whose lease is short. */
  const joinOther = async (): Promise<State> => {
    const other = driver?.other ?? state;
    await joinAll(other, 1000);
    return other;
  };
  const redeemAs = (as: State, request: Partial<RedeemRequest> = {}) =>
    as.redeem(redeemOf({ shard, right: byKey, holdId: 'hold', ...request }));
  /** The other's lease lapses and is reaped; answers how many holds were released. */
  const reapOther = async (): Promise<number> => {
    driver?.advance(1000);
    expect(await state.reap(shard, graceMs)).toBe(0);
    driver?.advance(graceMs);
    return state.reap(shard, graceMs);
  };
  const amounts = (heldNusd: bigint, unbookedNusd: bigint) => expect.objectContaining({ heldNusd, unbookedNusd });
  const result = (name: string, more: object = {}) => expect.objectContaining({ result: name, ...more });

  describe('a key', () => {
    test('is found by its hash, with its generation and shard', async () => {
      await putKey({ generation: 7 });
      expect(await state.lookupKey('key')).toEqual({ record: keyRecord('key'), generation: 7, shard });
      expect(await state.lookupKey('no such key')).toBeUndefined();
    });

    test('is gone when it was revoked, and an older projection does not bring it back', async () => {
      await putKey({ generation: 2, active: false });
      await putKey({ generation: 1, active: true });
      expect(await state.lookupKey('key')).toBeUndefined();
    });

    test('keeps the newest generation, and of the funds the newest version, past the tenth', async () => {
      await fund(1000n);
      await putKey({ generation: 9, fundsVersion: 9, limitFundsNusd: 10n });
      await putKey({ generation: 8, fundsVersion: 10, limitFundsNusd: 20n });
      await putKey({ generation: 10, fundsVersion: 9, limitFundsNusd: 1000n });
      await putKey({ generation: 9, fundsVersion: 10, limitFundsNusd: 1000n });
      expect(await redeem({ generation: 10, amountNusd: 21n })).toEqual(result('insufficient', { scope: 'key' }));
      expect(await redeem({ generation: 10, amountNusd: 20n })).toEqual(result('admitted'));
    });

    test('takes what else its projection says when the generation is the same', async () => {
      await fund(1000n);
      await putKey({ generation: 2 });
      await putKey({ generation: 2, limitRequests: 9 });
      expect(await redeem({ generation: 2 })).toEqual(
        result('admitted', { rate: expect.objectContaining({ limitRequests: 9 }) }),
      );
    });

    test('keeps the funds that the ledger told of before its record came', async () => {
      await fund(1000n);
      const keys = [{ keyHash: 'key', limitFundsNusd: 5n, version: 2 }];
      await state.book({ wallet: { shard, walletId, balanceNusd: 1000n, version: 2 }, keys, holdIds: [] });
      expect(await redeem()).toEqual(result('unknown_key'));
      await putKey({ fundsVersion: 1, limitFundsNusd: 100n });
      expect(await redeem({ amountNusd: 6n })).toEqual(result('insufficient', { scope: 'key' }));
      expect(await redeem({ amountNusd: 5n })).toEqual(result('admitted'));
    });
  });

  test('a wallet has the balance of the newest version, past the tenth, however it comes', async () => {
    await putKey();
    const book = (balanceNusd: bigint, version: number) =>
      state.book({ wallet: { shard, walletId, balanceNusd, version }, keys: [], holdIds: [] });
    let probes = 0;
    const expectBalance = async (balanceNusd: bigint) => {
      probes += 1;
      const holdId = `probe-${probes}`;
      expect(await redeem({ holdId, amountNusd: balanceNusd + 1n })).toEqual(result('insufficient'));
      expect(await redeem({ holdId, amountNusd: balanceNusd })).toEqual(result('admitted'));
      await state.cancel(shard, holdId);
    };
    await fund(10n, 9);
    await expectBalance(10n);
    await fund(20n, 10);
    for (const older of [9, 10]) {
      await fund(30n, older);
      await book(30n, older);
    }
    await expectBalance(20n);
    await book(10n, 11);
    await expectBalance(10n);
    await book(30n, 10);
    await expectBalance(10n);
  });

  describe('a ticket', () => {
    test('is minted where there is money, valid until it is used, and then never again', async () => {
      await fund(100n);
      await putKey();
      expect(await state.isTicketValid(shard, 'ticket')).toBe(false);
      expect(await mint()).toEqual({ result: 'minted' });
      expect(await state.isTicketValid(shard, 'ticket')).toBe(true);
      expect(await redeem({ right: byTicket })).toEqual(result('admitted'));
      expect(await state.isTicketValid(shard, 'ticket')).toBe(false);
      expect(await redeem({ right: byTicket, holdId: 'another' })).toEqual({ result: 'invalid_ticket' });
    });

    test('is valid again once its redeem is undone, as long as it would have been, and no longer used by anyone', async () => {
      await fund(100n);
      await putKey();
      await mint();
      expect(await redeem({ right: byTicket, holdId: 'lost' })).toEqual(result('admitted'));
      await state.cancel(shard, 'another');
      expect(await state.isTicketValid(shard, 'ticket')).toBe(false);
      await state.cancel(shard, 'lost');
      expect(await wallet()).toEqual(amounts(0n, 0n));
      expect(await state.isTicketValid(shard, 'ticket')).toBe(true);
      expect(await redeem({ right: byTicket, holdId: 'again' })).toEqual(result('admitted'));
      // The lost one is cancelled once more, while another request runs by the ticket.
      await state.cancel(shard, 'lost');
      expect(await redeem({ right: byTicket, holdId: 'lost' })).toEqual({ result: 'closed' });
      await settle(1n, 'again');
      await state.cancel(shard, 'again');
      expect(await redeem({ right: byTicket, holdId: 'third' })).toEqual({ result: 'invalid_ticket' });
    });

    test('is not made valid again by a mint that arrives once more', async () => {
      await fund(100n);
      await putKey();
      await mint();
      await redeem({ right: byTicket });
      expect(await mint()).toEqual({ result: 'minted' });
      expect(await state.isTicketValid(shard, 'ticket')).toBe(false);
      expect(await redeem({ right: byTicket, holdId: 'another' })).toEqual({ result: 'invalid_ticket' });
    });

    test('expires, used or not', async () => {
      await fund(100n);
      await putKey();
      await mint(300);
      expect(await state.isTicketValid(shard, 'ticket')).toBe(true);
      await sleep(320);
      expect(await state.isTicketValid(shard, 'ticket')).toBe(false);
      expect(await redeem({ right: byTicket })).toEqual({ result: 'invalid_ticket' });
    });

    test('is not minted for an empty wallet, whatever emptied it', async () => {
      await fund(10n);
      await putKey();
      await redeem({ amountNusd: 10n });
      expect(await mint()).toEqual({ result: 'insufficient', availableNusd: 0n });
      await fund(-5n, 2);
      expect(await mint()).toEqual({ result: 'insufficient', availableNusd: -15n });
      await fund(11n, 3);
      expect(await mint()).toEqual({ result: 'minted' });
      await fund(11n - maxNusd, 4);
      expect(await mint()).toEqual({ result: 'insufficient', availableNusd: 1n - maxNusd });
    });

    test('survives a refusal, and is used by the redeem that is admitted', async () => {
      await fund(5n);
      await putKey();
      await mint();
      expect(await redeem({ right: byTicket })).toEqual(result('insufficient', { scope: 'wallet' }));
      expect(await state.isTicketValid(shard, 'ticket')).toBe(true);
      await fund(10n, 2);
      expect(await redeem({ right: byTicket, holdId: 'another' })).toEqual(result('admitted'));
    });

    test('is void when its key was changed or revoked since', async () => {
      await fund(100n);
      await putKey();
      await mint();
      await putKey({ generation: 2 });
      expect(await redeem({ right: byTicket, generation: 1 })).toEqual({ result: 'invalid_ticket' });
      await putKey({ generation: 3, active: false });
      expect(await redeem({ right: byTicket, generation: 3 })).toEqual({ result: 'invalid_ticket' });
      expect(await wallet()).toEqual(amounts(0n, 0n));
    });
  });

  describe('a redeem', () => {
    beforeEach(async () => {
      await fund(100n);
      await putKey();
    });

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
      expect(await redeem({ amountNusd: 11n })).toEqual(result('insufficient', { scope: 'key' }));
      expect(await redeem({ amountNusd: 10n })).toEqual(result('admitted'));
      expect(await redeem({ holdId: 'another', amountNusd: 1n })).toEqual(result('insufficient', { scope: 'key' }));
    });

    test('counts what is charged but not booked as spent', async () => {
      await redeem({ amountNusd: 60n });
      await settle(60n);
      expect(await redeem({ holdId: 'another', amountNusd: 41n })).toEqual(result('insufficient', { scope: 'wallet' }));
      expect(await redeem({ holdId: 'another', amountNusd: 40n })).toEqual(result('admitted'));
      await putKey({ limitFundsNusd: 100n, fundsVersion: 2 });
      await fund(1000n, 2);
      expect(await redeem({ holdId: 'more', amountNusd: 1n })).toEqual(result('insufficient', { scope: 'key' }));
      await state.cancel(shard, 'another');
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
      await state.cancel(shard, 'cancelled');
      expect(await reapOther()).toBe(1);
      expect(await state.reap(shard, graceMs)).toBe(0);
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
      await state.settle(settlementOf({ shard, holdId: 'hold', chargeNusd: 0n, usedTokens: limitTokens - 5 }));
      expect(await redeem({ generation: 2, holdId: 'next', estimatedTokens: 2 })).toEqual(
        result('admitted', { rate: expect.objectContaining({ limitTokens, remainingTokens: 3 }) }),
      );
    });

    test('is closed after a cancel, a settlement or a release, whether or not it had arrived', async () => {
      await redeem({ holdId: 'cancelled' });
      await redeem({ holdId: 'settled' });
      await state.cancel(shard, 'cancelled');
      await settle(3n, 'settled');
      await state.cancel(shard, 'cancelled early');
      await settle(3n, 'settled early');
      await state.settle({ ...settlementOf({ shard, holdId: 'released early', chargeNusd: 0n }), entry: undefined });
      for (const holdId of ['cancelled', 'settled', 'cancelled early', 'settled early', 'released early']) {
        expect(await redeem({ holdId }), holdId).toEqual({ result: 'closed' });
      }
      expect(await wallet()).toEqual(amounts(0n, 3n));
    });

    test('with an older plan gets the key as it is now', async () => {
      await putKey({ generation: 2, record: keyRecord('changed') });
      const key = { record: keyRecord('changed'), generation: 2, shard };
      expect(await redeem({ generation: 1 })).toEqual({ result: 'stale_key', key });
      expect(await redeem({ generation: 2 })).toEqual(result('admitted'));
    });

    test('by a key that is unknown or revoked is refused', async () => {
      expect(await redeem({ right: { kind: 'key', keyHash: 'other' } })).toEqual({ result: 'unknown_key' });
      await putKey({ generation: 2, active: false });
      expect(await redeem({ generation: 2 })).toEqual({ result: 'unknown_key' });
    });

    test('is limited by the requests and the tokens of its minute', async () => {
      await putKey({ generation: 2, limitRequests: 3, limitTokens: 50 });
      const next = (holdId: string, estimatedTokens: number) => redeem({ generation: 2, holdId, estimatedTokens });
      const end = (holdId: string, usedTokens: number) =>
        state.settle(settlementOf({ shard, holdId, chargeNusd: 0n, usedTokens }));
      const rate = { limitRequests: 3, limitTokens: 50, resetMs: expect.any(Number) };
      const first = await next('first', 60);
      expect(first).toEqual({ result: 'admitted', rate: { ...rate, remainingRequests: 2, remainingTokens: 0 } });
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

      driver?.advance(60_000);
      expect(await next('fourth', 40)).toEqual(
        result('admitted', { rate: { ...rate, remainingRequests: 2, remainingTokens: 10 } }),
      );
      // What a request of the minute before used is no matter of this one.
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

    test('never tells the broker of whose wallet, nor how much is there', async () => {
      await mint();
      const replies = [
        await redeem({ right: byTicket }),
        await redeem({ right: byTicket, holdId: '2' }),
        await redeem({ holdId: '3', generation: 9 }),
        await redeem({ holdId: '4', amountNusd: 91n }),
        await state.lookupKey('key'),
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
          const from = index % 2 === 0 ? state : driver?.other;
          return from?.redeem(redeemOf({ shard, right: byTicket, holdId: `hold-${index}` }));
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
          const from = index % 2 === 0 ? state : driver?.other;
          return from?.redeem(redeemOf({ shard, right: byKey, holdId: `hold-${index}` }));
        }),
      );
      expect(replies.filter((reply) => reply?.result === 'admitted')).toHaveLength(20);
      expect(replies.filter((reply) => reply?.result === 'insufficient')).toHaveLength(180);
      expect(await wallet()).toEqual(amounts(200n, 0n));
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
      expect(await state.readSettlements(shard, '0-0', 10)).toEqual([
        { streamId: settled?.streamId, payload: 'charge of hold', mac: 'mac of hold' },
      ]);
    });

    test('of nothing releases everything, and without an entry tells nobody', async () => {
      const release = { ...settlementOf({ shard, holdId: 'hold', chargeNusd: 0n }), entry: undefined };
      expect(await state.settle(release)).toBeUndefined();
      expect(await wallet()).toEqual(amounts(0n, 0n));
      expect(await state.readSettlements(shard, '0-0', 10)).toEqual([]);
    });

    test('sent twice is told twice and charged once', async () => {
      await settle(4n);
      await settle(4n);
      expect(await wallet()).toEqual(amounts(0n, 4n));
      expect(await state.readSettlements(shard, '0-0', 10)).toHaveLength(2);
    });

    test('of a hold that was reaped is told to the ledger all the same, and counts until it is booked', async () => {
      await redeemAs(await joinOther(), { holdId: 'short' });
      expect(await reapOther()).toBe(1);
      expect(await settle(4n, 'short')).toEqual(place);
      expect(await settle(4n, 'short')).toEqual(place);
      expect(await wallet()).toEqual(amounts(10n, 4n));
      const booked = { shard, walletId, balanceNusd: 96n, version: 2 };
      await state.book({ wallet: booked, keys: [], holdIds: ['short'] });
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
        await state.settle(settlementOf({ shard, holdId: 'hold', chargeNusd: 4n, usedTokens }));
        expect(await wallet()).toEqual(amounts(0n, 4n));
        expect(await redeem({ holdId: 'next' })).toEqual(result('rate_limited', { by: 'tokens' }));
        driver?.advance(60_000);
        expect(await redeem({ holdId: 'next' })).toEqual(result('admitted'));
      },
    );

    test('is carried exactly, whatever it holds', async () => {
      const entry = { payload: 'm', mac: 'p\r\n\u0000"é' };
      await state.settle({ ...settlementOf({ shard, holdId: 'hold', chargeNusd: 1n }), entry });
      expect(await state.readSettlements(shard, '0-0', 10)).toEqual([expect.objectContaining(entry)]);
    });

    test('once booked is part of the balance, for the wallet and for the key', async () => {
      await settle(10n);
      const booking = {
        wallet: { shard, walletId, balanceNusd: 90n, version: 2 },
        keys: [{ keyHash: 'key', limitFundsNusd: 40n, version: 2 }],
        holdIds: ['hold', 'unknown'],
      };
      await state.book(booking);
      await state.book(booking);
      expect(await wallet()).toEqual(amounts(0n, 0n));
      expect(await redeem({ holdId: 'next', amountNusd: 41n })).toEqual(result('insufficient', { scope: 'key' }));
      expect(await redeem({ holdId: 'next', amountNusd: 40n })).toEqual(result('admitted'));
      await putKey({ generation: 2, fundsVersion: 3 });
      const rest = { holdId: 'rest', generation: 2 };
      expect(await redeem({ ...rest, amountNusd: 51n })).toEqual(result('insufficient', { scope: 'wallet' }));
      expect(await redeem({ ...rest, amountNusd: 50n })).toEqual(result('admitted'));
    });

    test('of nobody that the ledger knows is forgotten: its money is there again, and what was not noted stays as it is', async () => {
      await settle(10n);
      await state.forget(shard, ['hold', 'unknown']);
      await state.forget(shard, ['hold']);
      await state.forget(shard, []);
      expect(await wallet()).toEqual(amounts(0n, 0n));
      expect(await redeem({ holdId: 'next', amountNusd: 50n })).toEqual(result('admitted'));
      await state.forget(shard, ['next']);
      expect(await wallet()).toEqual(amounts(50n, 0n));
    });

    test('booked late never undoes a newer balance', async () => {
      await settle(10n);
      await fund(500n, 3);
      await state.book({ wallet: { shard, walletId, balanceNusd: 90n, version: 2 }, keys: [], holdIds: ['hold'] });
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
      await state.book({ wallet: { shard, walletId, balanceNusd: 98_000n, version: 3 }, keys: [], holdIds });
      expect(await wallet()).toEqual(amounts(10n, 0n));
    });

    test('is read page by page, and acknowledged forwards only', async () => {
      expect(await state.watermark(shard)).toEqual({ streamId: '0-0', epoch: 1 });
      for (const holdId of ['a', 'b', 'c']) await settle(0n, holdId);
      const [a, b] = await state.readSettlements(shard, '0-0', 2);
      const [c, ...rest] = await state.readSettlements(shard, b?.streamId ?? '', 10);
      expect([a, b, c].map((entry) => entry?.payload)).toEqual(['charge of a', 'charge of b', 'charge of c']);
      expect(rest).toEqual([]);
      await state.acknowledge(shard, b?.streamId ?? '');
      await state.acknowledge(shard, a?.streamId ?? '');
      expect(await state.watermark(shard)).toEqual({ streamId: b?.streamId, epoch: 1 });
      expect(await state.readSettlements(shard, '0-0', 10)).toEqual([c]);
      expect(await state.readSettlements(shard + 1, '0-0', 10)).toEqual([]);
    });
  });

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
      expect(await state.readHolds(shard, state.membership.caller(shard).client)).toEqual(['hold']);
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

  describe('an epoch', () => {
    const declaration = { payload: '{"holds": []}', mac: 'mac' };
    const restored = (holdId: string, amountNusd: bigint) => ({ holdId, walletId, keyHash: 'key', amountNusd });
    const entry = (name: string) => ({ payload: `charge of ${name}`, mac: `mac of ${name}` });
    beforeEach(async () => {
      await fund(100n);
      await putKey();
    });
    const end = async (epoch: number) => {
      await state.discardEpoch(shard, epoch);
      await state.beginEpoch(shard, epoch + 1);
    };

    test('that ended takes its holds and notes with it, and its tickets; wallets and keys stay', async () => {
      await mint();
      await redeem();
      await redeem({ holdId: 'charged' });
      await settle(3n, 'charged');
      await end(1);
      expect(await wallet()).toEqual(amounts(0n, 0n));
      expect(await outcome(redeem({ holdId: 'late' }))).toEqual(unavailable);
      await joinAll(state);
      expect(await outcome(redeem({ holdId: 'early' }))).toEqual(unavailable);
      expect(await outcome(state.isTicketValid(shard, 'ticket'))).toEqual(unavailable);
      expect(await state.isOpen()).toBe(false);
      await state.openEpoch(shard);
      expect(await state.isOpen()).toBe(true);
      expect(await state.isTicketValid(shard, 'ticket')).toBe(false);
      expect(await redeem({ holdId: 'by ticket', right: byTicket })).toEqual({ result: 'invalid_ticket' });
      expect(await redeem({ holdId: 'all', amountNusd: 100n })).toEqual(result('admitted'));
    });

    test('begins only where there is none, and is opened, ended and restored by its own number', async () => {
      expect(await state.beginEpoch(shard, 9)).toBe(false);
      expect(await state.discardEpoch(shard, 9)).toBe(false);
      expect(await redeem()).toEqual(result('admitted'));
    });

    test('lets in who declares something only once it is restored, and then with what it held', async () => {
      await redeem();
      await redeem({ holdId: 'charged' });
      await settle(3n, 'charged');
      await end(1);
      const control = await joinOther();
      const join = () => state.join(shard, { declaration, leaseMs });
      expect(await outcome(join())).toEqual(unavailable);
      expect(await join()).toEqual({ result: 'declared', isOpen: false });
      const { client } = state.membership.caller(shard);
      expect((await state.readMembers(shard)).declared).toEqual([{ client, ...declaration }]);
      expect(await outcome(settle(1n))).toEqual(unavailable);
      const holds = [restored('hold', 10n)];
      const charges = [{ ...restored('charged', 3n), entry: entry('charged') }];
      expect(await control.admitDeclared(shard, client, { leaseMs, holds, charges })).toBe(true);
      expect(await control.admitDeclared(shard, client, { leaseMs, holds, charges })).toBe(false);
      await control.openEpoch(shard);
      expect(await wallet()).toEqual(amounts(10n, 3n));
      expect(await join()).toMatchObject({ result: 'joined', isOpen: true });
      expect((await state.readMembers(shard)).declared).toEqual([]);
      const streamed = await state.readSettlements(shard, '0-0', 9);
      expect(streamed.map(({ payload }) => payload)).toEqual(['charge of charged', 'charge of charged']);
      await settle(4n);
      expect(await wallet()).toEqual(amounts(0n, 7n));
    });

    test('lets nobody in who thinks of renewing a lease that it does not have', async () => {
      await end(1);
      const renew = () => state.join(shard, { declaration: 'renewal', leaseMs });
      expect(await outcome(renew())).toEqual(unavailable);
      expect(await outcome(renew())).toEqual(unavailable);
      expect((await state.readMembers(shard)).clients).toEqual([]);
      await joinAll(state);
      expect(await renew()).toMatchObject({ result: 'joined' });
    });

    test('takes in who comes late, beside the others', async () => {
      const other = await joinOther();
      await redeemAs(other, { holdId: 'of the other' });
      await end(1);
      await joinAll(state);
      await state.openEpoch(shard);
      expect(await redeem({ amountNusd: 95n })).toEqual(result('admitted'));
      await outcome(other.join(shard, { declaration, leaseMs }));
      expect(await other.join(shard, { declaration, leaseMs })).toEqual({ result: 'declared', isOpen: true });
      const { client } = other.membership.caller(shard);
      const holds = [restored('of the other', 10n)];
      await state.admitDeclared(shard, client, { leaseMs, holds, charges: [] });
      expect(await wallet()).toEqual(amounts(105n, 0n));
      expect(await redeem({ holdId: 'one more', amountNusd: 0n })).toEqual(result('insufficient', { scope: 'wallet' }));
    });

    test('that ended is over for settlements too: they are taken when their broker has joined the next', async () => {
      await redeem();
      await end(1);
      expect(await outcome(settle(4n))).toEqual(unavailable);
      await joinAll(state);
      expect(await outcome(settle(4n))).toEqual(unavailable);
      await state.openEpoch(shard);
      expect(await settle(4n)).toMatchObject({ epoch: 2 });
    });
  });

  test('every shard works, by itself', async () => {
    await Promise.all(
      shards.map(async (each) => {
        const ids = { walletId: `wallet-${each}`, keyHash: `key-${each}`, holdId: `hold-${each}` };
        await state.putWallet({ shard: each, walletId: ids.walletId, balanceNusd: 10n, version: 1 });
        await state.putKey(keyProjection({ shard: each, ...ids }));
        expect(await state.lookupKey(ids.keyHash)).toEqual({
          record: keyRecord(ids.keyHash),
          generation: 1,
          shard: each,
        });
        expect(await state.mint({ shard: each, ...ids, ticketHash: 'ticket', generation: 1, ttlMs: 60_000 })).toEqual({
          result: 'minted',
        });
        expect(await state.isTicketValid(each, 'ticket')).toBe(true);
        const request = redeemOf({ shard: each, right: byTicket, holdId: ids.holdId });
        expect(await state.redeem(request)).toEqual(result('admitted'));
        const settled = await state.settle(settlementOf({ shard: each, holdId: ids.holdId, chargeNusd: 10n }));
        expect(settled).toEqual(place);
        expect(await state.readSettlements(each, '0-0', 10)).toHaveLength(1);
        const booked = { shard: each, walletId: ids.walletId, balanceNusd: 0n, version: 2 };
        await state.book({ wallet: booked, keys: [], holdIds: [ids.holdId] });
        await state.acknowledge(each, settled?.streamId ?? '');
        expect(await state.watermark(each)).toEqual(settled);
        await state.cancel(each, 'another');
        expect(await state.reap(each, graceMs)).toBe(0);
        expect(await state.readWallet(each, ids.walletId)).toEqual(amounts(0n, 0n));
      }),
    );
  });

  describe('before control has projected', () => {
    beforeEach(async () => {
      await driver?.reset();
      if (driver !== undefined) state = driver.state;
    });

    test('nothing is admitted, and nobody is told that a key or a ticket is wrong', async () => {
      const refusals = async () => {
        expect(await outcome(redeem())).toEqual(unavailable);
        expect(await outcome(redeem({ right: byTicket }))).toEqual(unavailable);
        expect(await outcome(state.isTicketValid(shard, 'ticket'))).toEqual(unavailable);
        expect(await outcome(state.lookupKey('unknown'))).toEqual(unavailable);
        expect(await outcome(mint())).toEqual(unavailable);
      };
      await refusals();
      expect(await outcome(fund(100n))).toEqual(unavailable);
      await beginEpoch(1, state);
      await fund(100n);
      await putKey();
      await refusals();
      await state.openEpoch(shard);
      expect(await redeem()).toEqual(result('admitted'));
    });

    test('a key whose wallet is not there yet is not called poor', async () => {
      await openEpoch(state);
      await putKey();
      expect(await mint()).toEqual({ result: 'not_projected' });
      expect(await wallet()).toBeUndefined();
      await expect(redeem()).rejects.toThrow(new StateUnavailableError('not projected'));
    });

    test('no ticket is made for a key that is not there yet, or not in this form: it would be called invalid', async () => {
      await openEpoch(state);
      await fund(100n);
      expect(await mint()).toEqual({ result: 'not_projected' });
      await putKey({ generation: 2 });
      expect(await mint()).toEqual({ result: 'not_projected' });
      expect(await state.isTicketValid(shard, 'ticket')).toBe(false);
    });

    test('it is not ready', async () => {
      expect([await state.isOpen(), await state.isReady()]).toEqual([false, false]);
      await openEpoch(state);
      expect([await state.isOpen(), await state.isReady()]).toEqual([true, true]);
    });
  });

  describe('what all share', () => {
    const snapshot = (version: number): CatalogSnapshot => ({
      v: 1,
      version,
      digest: `digest-${version}`,
      file: { models: [] },
    });

    test('an older catalog never replaces a newer one', async () => {
      expect(await state.readCatalog(0)).toBeUndefined();
      await state.publishCatalog(snapshot(10));
      await state.publishCatalog(snapshot(9));
      await state.publishCatalog({ ...snapshot(10), digest: 'another' });
      expect(await driver?.other.readCatalog(0)).toEqual(snapshot(10));
      expect(await state.readCatalog(9)).toEqual(snapshot(10));
      expect(await state.readCatalog(10)).toBeUndefined();
      await state.publishCatalog(snapshot(11));
      expect(await state.readCatalog(10)).toEqual(snapshot(11));
    });

    test('the registry is what was published last', async () => {
      expect(await state.readRegistry()).toBeUndefined();
      await state.publishRegistry({ digest: 'first', providers: [] });
      const provider = { id: 'acme', name: 'Acme', listed: true, privacy_class: 'private', available: true } as const;
      const registry = { digest: 'second', providers: [provider] };
      await state.publishRegistry(registry);
      expect(await driver?.other.readRegistry()).toEqual(registry);
    });

    test('no strike is lost when many strike at once, from two processes', async () => {
      const strike = (current: Penalty | undefined): Penalty => ({
        kind: 'timeout',
        strikes: (current?.strikes ?? 0) + 1,
        lastStrikeAt: 1,
        expiresAt: 2,
      });
      expect(await state.readPenalties()).toEqual(new Map());
      await Promise.all(
        Array.from({ length: 60 }, (_, index) =>
          (index % 2 === 0 ? state : driver?.other)?.updatePenalty(index < 50 ? 'route:a' : 'route:b', strike),
        ),
      );
      const penalty = { kind: 'timeout', lastStrikeAt: 1, expiresAt: 2 };
      expect(await state.readPenalties()).toEqual(
        new Map([
          ['route:a', { ...penalty, strikes: 50 }],
          ['route:b', { ...penalty, strikes: 10 }],
        ]),
      );
    });

    const share = (by: State | undefined, hour: number, source: string, records: Record<string, string>) =>
      by?.shareMeasurements({ hour, source, records: new Map(Object.entries(records)) });
    const measurements = async (hour: number, cursor?: string) => {
      const page = await state.readMeasurements(hour, cursor);
      const named = page.records.map(({ source, routeId, record }) => [source, routeId, record].join(' '));
      return { ...page, records: named.sort() };
    };

    test('measurements: a record stands beside those of other sources and hours, and sent again counts once', async () => {
      await Promise.all([
        share(state, 100, 'one', { 'm/a|b@x': '1;1;;;;' }),
        share(driver?.other, 100, 'two', { 'm/a|b@x': '5;4;;;;', 'm/b@x': '2;2;;;;' }),
        share(driver?.other, 101, 'two', { 'm/b@x': '3;3;;;;' }),
        share(state, 101, 'one', {}),
      ]);
      await share(state, 100, 'one', { 'm/a|b@x': '2;1;;;;' });
      await share(state, 100, 'one', { 'm/a|b@x': '2;1;;;;' });
      const found = await measurements(100);
      expect(found).toMatchObject({
        records: ['one m/a|b@x 2;1;;;;', 'two m/a|b@x 5;4;;;;', 'two m/b@x 2;2;;;;'],
        isLast: true,
      });
      expect((await measurements(101)).records).toEqual(['two m/b@x 3;3;;;;']);
      expect(await measurements(102)).toMatchObject({ records: [], isLast: true });
    });

    test('measurements: a reader is told only what has changed since it read last', async () => {
      expect(await measurements(100)).toMatchObject({ records: [] });
      await share(state, 100, 'one', { a: '1;1;;;;', b: '1;1;;;;' });
      const first = await measurements(100, (await measurements(100)).cursor);
      expect(first.records).toEqual([]);
      await share(driver?.other, 100, 'one', { b: '2;2;;;;' });
      const second = await measurements(100, first.cursor);
      expect(second.records).toEqual(['one b 2;2;;;;']);
      expect((await measurements(100, second.cursor)).records).toEqual([]);
    });

    test('measurements: more than a page is read to its end, each record once', async () => {
      const routes = Array.from({ length: 1201 }, (_, index) => `route-${index}`);
      await share(state, 100, 'one', Object.fromEntries(routes.map((id) => [id, '1;1;;;;'])));
      const read: string[] = [];
      let pages = 0;
      for (let cursor: string | undefined; ; ) {
        const page = await state.readMeasurements(100, cursor);
        read.push(...page.records.map(({ routeId }) => routeId));
        pages += 1;
        cursor = page.cursor;
        if (page.isLast) break;
      }
      expect(pages).toBe(3);
      expect(read.sort()).toEqual(routes.sort());
    });

    test('measurements: an hour keeps a bounded number of records, and goes on with those it has', async () => {
      const limit = maxMeasurementRecords;
      for (let at = 0; at < limit; at += 5000) {
        const ids = Array.from({ length: 5000 }, (_, index) => [`route-${at + index}`, '1;1;;;;']);
        await share(state, 100, 'one', Object.fromEntries(ids));
      }
      await share(driver?.other, 100, 'two', { 'route-0': '1;1;;;;' });
      await share(state, 100, 'one', { 'route-0': '7;7;;;;' });
      const fields: string[] = [];
      for (let cursor: string | undefined, isLast = false; !isLast; ) {
        const page = await state.readMeasurements(100, cursor);
        fields.push(...page.records.map(({ source, routeId, record }) => `${source} ${routeId} ${record}`));
        ({ cursor, isLast } = page);
      }
      expect(fields).toHaveLength(limit);
      expect(fields.at(-1)).toBe('one route-0 7;7;;;;');
    });
  });

  test('what is free needs no balance, and its ticket is used up all the same', async () => {
    await fund(-5n);
    await putKey({ limitFundsNusd: -1n });
    expect(await mint()).toEqual(result('insufficient'));
    const free = { right: byTicket, amountNusd: 0n, free: true };
    const asked = { shard, ticketHash: 'ticket', walletId, keyHash: 'key', generation: 1, ttlMs: 60_000, free: true };
    expect(await state.mint(asked)).toEqual({ result: 'minted' });
    expect(await redeem({ right: byTicket, amountNusd: 0n })).toEqual(result('insufficient'));
    await expect(redeem({ ...free, amountNusd: 1n })).rejects.toThrow(RangeError);
    expect(await redeem(free)).toEqual(result('admitted'));
    expect(await redeem({ ...free, holdId: 'again' })).toEqual(result('invalid_ticket'));
    await settle(0n);
    expect(await wallet()).toEqual(amounts(0n, 0n));
  });

  describe('a receipt', () => {
    const id = 'preq_0123456789abcdef';

    test('is read by every process that knows its id, by its kind and id alone, and the last one kept counts', async () => {
      expect(await state.readReceipt('provider', id)).toBeUndefined();
      await state.keepReceipt('provider', id, '{"first":true}', 60_000);
      await state.keepReceipt('provider', id, '{"last":true}', 60_000);
      expect(await driver?.other.readReceipt('provider', id)).toBe('{"last":true}');
      expect(await state.readReceipt('gateway', id)).toBeUndefined();
      expect(await state.readReceipt('provider', `${id}0`)).toBeUndefined();
    });

    test('is gone when its time is up, whatever is kept after it', async () => {
      await state.keepReceipt('gateway', id, 'soon gone', 300);
      await state.keepReceipt('gateway', `${id}-other`, 'stays', 60_000);
      driver?.advance(300);
      await sleep(320);
      expect(await state.readReceipt('gateway', id)).toBeUndefined();
      expect(await state.readReceipt('gateway', `${id}-other`)).toBe('stays');
    });

    test.each([
      ['id', ['short', '{}', 1]],
      ['id', [`${id}:other`, '{}', 1]],
      ['document', [id, 'x'.repeat(32_769), 1]],
      ['ttlMs', [id, '{}', 0]],
      ['ttlMs', [id, '{}', Number.NaN]],
    ] as const)('is refused where its %s is out of bounds', async (field, [name, document, ttlMs]) => {
      const kept = state.keepReceipt('gateway', name, document, ttlMs);
      await expect(kept).rejects.toThrow(new RangeError(`${field} is out of bounds`));
    });
  });
});
