import { setTimeout as sleep } from 'node:timers/promises';
import { maxNusd } from '@sotto/money';
import { describe, expect, test } from 'vitest';
import { knownKey, openEpoch, outcome } from '../fixtures.ts';
import { amounts, byKey, byTicket, type DrivenState, result, shard, ticketAt, unavailable, walletId } from './world.ts';

/** So long that no test takes it, and shorter than a lease. */
const overlapMs = 20_000;
const later = (driven: DrivenState): number => (driven.driver?.now() ?? 0) + overlapMs;

const known = (of: { readonly generation?: number; readonly version?: number } = {}) =>
  knownKey({ shard, keyHash: 'key', walletId, ...of });

export function ticketSuite(driven: DrivenState): void {
  const { fund, fundKey, mint, putKey, redeem, removeKey, settle, wallet } = driven;
  describe('a ticket', () => {
    test('is minted where there is money, valid until it is used, and then never again', async () => {
      await fundKey(100n);
      expect(await driven.state.peek(ticketAt(shard))).toBeUndefined();
      expect(await mint()).toEqual({ result: 'minted' });
      expect(await driven.state.peek(ticketAt(shard))).toBeDefined();
      expect(await redeem({ right: byTicket })).toEqual(result('admitted'));
      expect(await driven.state.peek(ticketAt(shard))).toBeUndefined();
      expect(await redeem({ right: byTicket, holdId: 'another' })).toEqual({ result: 'invalid_ticket' });
    });

    test('is valid again once its redeem is undone before use', async () => {
      await fundKey(100n);
      await mint();
      expect(await redeem({ right: byTicket, holdId: 'lost' })).toEqual(result('admitted'));
      await driven.state.cancel(shard, 'another');
      expect(await driven.state.peek(ticketAt(shard))).toBeUndefined();
      await driven.state.cancel(shard, 'lost');
      expect(await wallet()).toEqual(amounts(0n, 0n));
      expect(await driven.state.peek(ticketAt(shard))).toBeDefined();
      expect(await redeem({ right: byTicket, holdId: 'again' })).toEqual(result('admitted'));
      // Cancels the lost request once more, while another request runs by the ticket.
      await driven.state.cancel(shard, 'lost');
      expect(await redeem({ right: byTicket, holdId: 'lost' })).toEqual({ result: 'closed' });
      await settle(1n, 'again');
      await driven.state.cancel(shard, 'again');
      expect(await redeem({ right: byTicket, holdId: 'third' })).toEqual({ result: 'invalid_ticket' });
    });

    test('is not made valid again by a mint that arrives once more', async () => {
      await fundKey(100n);
      await mint();
      await redeem({ right: byTicket });
      expect(await mint()).toEqual({ result: 'minted' });
      expect(await driven.state.peek(ticketAt(shard))).toBeUndefined();
      expect(await redeem({ right: byTicket, holdId: 'another' })).toEqual({ result: 'invalid_ticket' });
    });

    test('expires', async () => {
      await fundKey(100n);
      await mint({ ttlMs: 1000 });
      expect(await driven.state.peek(ticketAt(shard))).toBeDefined();
      await sleep(1020);
      expect(await driven.state.peek(ticketAt(shard))).toBeUndefined();
      expect(await redeem({ right: byTicket })).toEqual({ result: 'invalid_ticket' });
    });

    test('is not minted for an empty wallet, whatever emptied it', async () => {
      await fundKey(10n);
      await redeem({ amountNusd: 10n });
      expect(await mint()).toEqual({ result: 'insufficient', availableNusd: 0n });
      await fund(-5n, 2);
      expect(await mint()).toEqual({ result: 'insufficient', availableNusd: -15n });
      await fund(11n, 3);
      expect(await mint()).toEqual({ result: 'minted' });
      await fund(11n - maxNusd, 4);
      expect(await mint()).toEqual({ result: 'insufficient', availableNusd: 1n - maxNusd });
    });

    test('and its key tell the state of the rate limits, as a redeem does, and change nothing', async () => {
      await fundKey(100n);
      await mint();
      const before = await driven.state.peek(ticketAt(shard));
      expect(before).toMatchObject({ limitRequests: expect.any(Number), limitTokens: expect.any(Number) });
      expect(before?.remainingRequests).toBe(before?.limitRequests);
      expect(await driven.state.peek({ shard, right: byKey })).toMatchObject({
        ...before,
        resetMs: expect.any(Number),
      });
      const reply = await redeem({ right: byTicket });
      const after = await driven.state.peek({ shard, right: byKey });
      if (reply.result !== 'admitted') throw new Error(`not admitted but ${reply.result}`);
      expect(after).toEqual({ ...reply.rate, resetMs: expect.any(Number) });
      expect(await driven.state.peek({ shard, right: { kind: 'key', keyHash: 'another' } })).toBeUndefined();
      await removeKey(2);
      expect(await driven.state.peek({ shard, right: byKey })).toBeUndefined();
    });

    test('survives a refusal, and is used by the redeem that is admitted', async () => {
      await fundKey(5n);
      await mint();
      expect(await redeem({ right: byTicket })).toEqual(result('insufficient', { scope: 'wallet' }));
      expect(await driven.state.peek(ticketAt(shard))).toBeDefined();
      await fund(10n, 2);
      expect(await redeem({ right: byTicket, holdId: 'another' })).toEqual(result('admitted'));
    });

    test('is void when its key was changed or revoked since', async () => {
      await fundKey(100n);
      await mint();
      await putKey({ generation: 2 });
      expect(await driven.state.peek(ticketAt(shard))).toBeUndefined();
      expect(await redeem({ right: byTicket, generation: undefined })).toEqual({ result: 'invalid_ticket' });
      await removeKey(3);
      expect(await redeem({ right: byTicket, generation: 3 })).toEqual({ result: 'invalid_ticket' });
      expect(await wallet()).toEqual(amounts(0n, 0n));
    });

    test('is void when its key was changed since, whatever the broker says and though its redeem was undone', async () => {
      await fundKey(100n);
      await mint();
      expect(await redeem({ right: byTicket, generation: undefined, holdId: 'lost' })).toEqual(result('admitted'));
      await driven.state.cancel(shard, 'lost');
      await putKey({ generation: 2 });
      for (const generation of [undefined, 1, 2]) {
        expect(await redeem({ right: byTicket, generation })).toEqual({ result: 'invalid_ticket' });
      }
    });

    test('is not minted for a generation that is not the present one', async () => {
      await fund(100n);
      await putKey({ generation: 7 });
      expect(await mint()).toEqual({ result: 'not_projected' });
      expect(await mint({ generation: 7 })).toEqual({ result: 'minted' });
      expect(await redeem({ right: byTicket, generation: undefined })).toEqual(result('admitted'));
    });
  });
}

export function keySuite(driven: DrivenState): void {
  const { book, fund, mint, putKey, redeem, removeKey, settle, wallet } = driven;
  describe('a key', () => {
    test('is found by its hash, with its generation and shard', async () => {
      await putKey({ generation: 7 });
      expect(await driven.state.lookupKey('key')).toEqual(known({ generation: 7 }));
      expect(await driven.state.lookupKey('no such key')).toBeUndefined();
    });

    test('that has expired neither opens nor lets its tickets be used, whatever the broker remembers', async () => {
      await fund(100n);
      await putKey({ expiresAt: later(driven) });
      await mint();
      expect(await redeem({ holdId: 'before' })).toEqual(result('admitted'));
      driven.driver?.advance(overlapMs);
      expect(await driven.state.lookupKey('key')).toBeUndefined();
      expect(await driven.state.peek({ shard, right: byKey })).toBeUndefined();
      expect(await driven.state.peek(ticketAt(shard))).toBeUndefined();
      expect(await redeem()).toEqual({ result: 'unknown_key' });
      expect(await redeem({ right: byTicket })).toEqual({ result: 'invalid_ticket' });
      // The answer of an admitted request may have been lost, and its hold ends as usual.
      expect(await redeem({ holdId: 'before' })).toEqual(result('admitted'));
      await settle(1n, 'before');
      expect(await wallet()).toEqual(amounts(0n, 1n));
      await putKey({ generation: 2 });
      expect(await redeem({ generation: 2 })).toEqual(result('admitted'));
    });

    test('gets tickets only in its generation, while it is open, and by a secret that opens it', async () => {
      await fund(100n);
      const order = { shard, ticketHashes: ['one', 'two'], walletId, keyHash: 'key', ttlMs: 60_000 } as const;
      const minted = (by: { generation: number; secretHash?: string }) => mint({ ...order, ...by });
      await putKey({ generation: 7, secrets: [{ secretHash: 'second', endsAt: later(driven) }] });
      for (const by of [{ generation: 6 }, { generation: 7, secretHash: 'key' }]) {
        expect(await minted(by)).toEqual({ result: 'not_projected' });
      }
      expect(await minted({ generation: 7, secretHash: 'second' })).toEqual({ result: 'minted' });
      for (const ticketHash of order.ticketHashes) {
        const right = { kind: 'ticket', ticketHash } as const;
        expect(await redeem({ right, generation: undefined, holdId: ticketHash })).toEqual(result('admitted'));
      }
      driven.driver?.advance(overlapMs);
      expect(await minted({ generation: 7, secretHash: 'second' })).toEqual({ result: 'not_projected' });
      expect(await minted({ generation: 7 })).toEqual({ result: 'minted' });
      await removeKey(8);
      expect(await minted({ generation: 8 })).toEqual({ result: 'not_projected' });
      await putKey({ generation: 9, expiresAt: later(driven) });
      driven.driver?.advance(overlapMs);
      expect(await minted({ generation: 9 })).toEqual({ result: 'not_projected' });
    });

    describe('that was rotated', () => {
      const secrets = () => [
        { secretHash: 'key', endsAt: later(driven) },
        { secretHash: 'second', endsAt: undefined },
      ];
      const bySecond = { ...byKey, secretHash: 'second' };

      test('opens with both secrets until the overlap ends, and then with the newest only', async () => {
        await fund(100n);
        await putKey({ secrets: secrets() });
        expect(await driven.state.lookupKey('key')).toEqual(known());
        const found = { ...known(), keyHash: 'key' };
        expect(await driven.state.lookupKey('second')).toEqual(found);
        expect(await redeem({ holdId: '1' })).toEqual(result('admitted'));
        expect(await redeem({ right: bySecond, holdId: '2' })).toEqual(result('admitted'));
        driven.driver?.advance(overlapMs);
        expect(await driven.state.lookupKey('key')).toBeUndefined();
        expect(await driven.state.peek({ shard, right: byKey })).toBeUndefined();
        expect(await redeem({ holdId: '3' })).toEqual({ result: 'unknown_key' });
        expect(await driven.state.lookupKey('second')).toEqual(found);
        expect(await driven.state.peek({ shard, right: bySecond })).toBeDefined();
        expect(await redeem({ right: bySecond, holdId: '4' })).toEqual(result('admitted'));
      });

      test('has one rate limit, one credit limit and one sum of holds, whichever secret was shown', async () => {
        await fund(100n);
        await putKey({ secrets: secrets(), limitRequests: 3, limitFundsNusd: 10n });
        expect(await redeem({ amountNusd: 6n, holdId: '1' })).toEqual(result('admitted'));
        expect(await redeem({ right: bySecond, amountNusd: 5n, holdId: '2' })).toEqual(
          result('insufficient', { scope: 'key' }),
        );
        expect(await redeem({ right: bySecond, amountNusd: 4n, holdId: '3' })).toEqual(result('admitted'));
        expect(await redeem({ right: bySecond, amountNusd: 0n, holdId: '4' })).toEqual(result('admitted'));
        expect(await redeem({ amountNusd: 0n, holdId: '5' })).toEqual(result('rate_limited'));
        // The hold of the old secret settles after the overlap.
        driven.driver?.advance(overlapMs);
        await settle(6n, '1');
        const { keys } = await driven.state.readBooks(shard, {
          walletIds: [],
          keyHashes: ['key', 'second'],
          budgetIds: [],
        });
        expect([...keys.keys()]).toEqual(['key']);
        expect(keys.get('key')).toMatchObject({ heldNusd: 4n, unbookedNusd: 6n, holdsNusd: 4n, notesNusd: 6n });
      });

      test('is refused with every secret once it is revoked, also by an older projection that arrives later', async () => {
        await fund(100n);
        await putKey({ generation: 2, secrets: secrets() });
        await removeKey(3, { secrets: secrets() });
        await putKey({ generation: 2, secrets: secrets() });
        for (const right of [byKey, bySecond]) {
          expect(await redeem({ right, generation: 2, holdId: right.keyHash })).toEqual({ result: 'unknown_key' });
        }
        expect(await driven.state.lookupKey('second')).toBeUndefined();
      });

      test('a secret whose end came with a later rotation stays ended when the earlier projection arrives late', async () => {
        await fund(100n);
        const third = [
          { secretHash: 'second', endsAt: later(driven) },
          { secretHash: 'third', endsAt: undefined },
        ];
        await putKey({ generation: 3, secrets: third });
        await putKey({ generation: 2, secrets: secrets() });
        expect(await driven.state.lookupKey('key')).toBeUndefined();
        expect(await redeem({ generation: 3 })).toEqual({ result: 'unknown_key' });
        for (const secretHash of ['second', 'third']) {
          const right = { ...byKey, secretHash };
          expect(await redeem({ right, generation: 3, holdId: secretHash })).toEqual(result('admitted'));
        }
      });

      test('is found by a later secret again after the index of a lost shard was written anew', async () => {
        await putKey({ secrets: secrets() });
        await driven.driver?.reset();
        await openEpoch(driven.state);
        await driven.state.indexKey({ keyHash: 'key', shard, secrets: secrets() });
        // The index alone opens nothing. An open shard has the records of all keys that work.
        expect(await driven.state.lookupKey('second')).toBeUndefined();
        await driven.state.discardEpoch(shard, 1);
        expect(await outcome(driven.state.lookupKey('second'))).toEqual(unavailable);
        await openEpoch(driven.state, 2);
        await putKey({ secrets: secrets() });
        expect(await driven.state.lookupKey('second')).toMatchObject({ keyHash: 'key' });
      });
    });

    test('is gone when it was revoked, and an older projection does not bring it back', async () => {
      await removeKey(2);
      await putKey({ generation: 1 });
      expect(await driven.state.lookupKey('key')).toBeUndefined();
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
      await driven.state.book({
        wallet: { shard, walletId, balanceNusd: 1000n, version: 2 },
        keys,
        budgets: [],
        holdIds: [],
      });
      expect(await redeem()).toEqual(result('unknown_key'));
      await putKey({ fundsVersion: 1, limitFundsNusd: 100n });
      expect(await redeem({ amountNusd: 6n })).toEqual(result('insufficient', { scope: 'key' }));
      expect(await redeem({ amountNusd: 5n })).toEqual(result('admitted'));
    });
  });

  test('a wallet has the balance of the newest version, past the tenth, however it comes', async () => {
    await putKey();
    let probes = 0;
    const expectBalance = async (balanceNusd: bigint) => {
      probes += 1;
      const holdId = `probe-${probes}`;
      expect(await redeem({ holdId, amountNusd: balanceNusd + 1n })).toEqual(result('insufficient'));
      expect(await redeem({ holdId, amountNusd: balanceNusd })).toEqual(result('admitted'));
      await driven.state.cancel(shard, holdId);
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
}
