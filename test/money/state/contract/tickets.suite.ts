import { setTimeout as sleep } from 'node:timers/promises';
import { maxNusd } from '@sotto/money';
import { describe, expect, test } from 'vitest';
import {
  amounts,
  byKey,
  byTicket,
  fund,
  mint,
  putKey,
  redeem,
  result,
  settle,
  shard,
  state,
  ticketAt,
  wallet,
  walletId,
} from './world.ts';

/** The forms of tickets, each with the generation that its redeem says. */
const forms = [
  { form: 1, said: 1 },
  { form: 2, said: undefined },
] as const;

export function ticketSuite(): void {
  describe('a ticket', () => {
    test('is minted where there is money, valid until it is used, and then never again', async () => {
      await fund(100n);
      await putKey();
      expect(await state.peek(ticketAt(shard))).toBeUndefined();
      expect(await mint()).toEqual({ result: 'minted' });
      expect(await state.peek(ticketAt(shard))).toBeDefined();
      expect(await redeem({ right: byTicket })).toEqual(result('admitted'));
      expect(await state.peek(ticketAt(shard))).toBeUndefined();
      expect(await redeem({ right: byTicket, holdId: 'another' })).toEqual({ result: 'invalid_ticket' });
    });

    test.each(forms)('of form $form is valid again once its redeem is undone, and used by nobody', async ({ form }) => {
      await fund(100n);
      await putKey();
      await mint(60_000, form);
      expect(await redeem({ right: byTicket, holdId: 'lost' })).toEqual(result('admitted'));
      await state.cancel(shard, 'another');
      expect(await state.peek(ticketAt(shard))).toBeUndefined();
      await state.cancel(shard, 'lost');
      expect(await wallet()).toEqual(amounts(0n, 0n));
      expect(await state.peek(ticketAt(shard))).toBeDefined();
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
      expect(await state.peek(ticketAt(shard))).toBeUndefined();
      expect(await redeem({ right: byTicket, holdId: 'another' })).toEqual({ result: 'invalid_ticket' });
    });

    test('expires, used or not', async () => {
      await fund(100n);
      await putKey();
      await mint(300);
      expect(await state.peek(ticketAt(shard))).toBeDefined();
      await sleep(320);
      expect(await state.peek(ticketAt(shard))).toBeUndefined();
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

    test('and its key tell the state of the rate limits, as a redeem does, and change nothing', async () => {
      await fund(100n);
      await putKey();
      await mint();
      const before = await state.peek(ticketAt(shard));
      expect(before).toMatchObject({ limitRequests: expect.any(Number), limitTokens: expect.any(Number) });
      expect(before?.remainingRequests).toBe(before?.limitRequests);
      expect(await state.peek({ shard, right: byKey })).toMatchObject({ ...before, resetMs: expect.any(Number) });
      const reply = await redeem({ right: byTicket });
      const after = await state.peek({ shard, right: byKey });
      if (reply.result !== 'admitted') throw new Error(`not admitted but ${reply.result}`);
      expect(after).toEqual({ ...reply.rate, resetMs: expect.any(Number) });
      expect(await state.peek({ shard, right: { kind: 'key', keyHash: 'another' } })).toBeUndefined();
      await putKey({ generation: 2, active: false });
      expect(await state.peek({ shard, right: byKey })).toBeUndefined();
    });

    test('survives a refusal, and is used by the redeem that is admitted', async () => {
      await fund(5n);
      await putKey();
      await mint();
      expect(await redeem({ right: byTicket })).toEqual(result('insufficient', { scope: 'wallet' }));
      expect(await state.peek(ticketAt(shard))).toBeDefined();
      await fund(10n, 2);
      expect(await redeem({ right: byTicket, holdId: 'another' })).toEqual(result('admitted'));
    });

    test.each(forms)('of form $form is void when its key was changed or revoked since', async ({ form, said }) => {
      await fund(100n);
      await putKey();
      await mint(60_000, form);
      await putKey({ generation: 2 });
      expect(await state.peek({ shard, right: byTicket, generation: said })).toBeUndefined();
      expect(await redeem({ right: byTicket, generation: said })).toEqual({ result: 'invalid_ticket' });
      await putKey({ generation: 3, active: false });
      expect(await redeem({ right: byTicket, generation: 3 })).toEqual({ result: 'invalid_ticket' });
      expect(await wallet()).toEqual(amounts(0n, 0n));
    });

    test('of form 2 is void when its key was changed since, whatever the broker says and though its redeem was undone', async () => {
      await fund(100n);
      await putKey();
      await mint();
      expect(await redeem({ right: byTicket, generation: undefined, holdId: 'lost' })).toEqual(result('admitted'));
      await state.cancel(shard, 'lost');
      await putKey({ generation: 2 });
      for (const generation of [undefined, 1, 2]) {
        expect(await redeem({ right: byTicket, generation })).toEqual({ result: 'invalid_ticket' });
      }
    });

    test('of form 1 is judged by the generation that it says, also when its redeem was undone', async () => {
      await fund(100n);
      await putKey({ generation: 7 });
      expect(await mint(60_000, 1)).toEqual({ result: 'not_projected' });
      await state.mint({
        shard,
        ticketHash: 'ticket',
        walletId,
        keyHash: 'key',
        generation: 7,
        form: 1,
        ttlMs: 60_000,
      });
      expect(await redeem({ right: byTicket, generation: undefined })).toEqual({ result: 'invalid_ticket' });
      expect(await redeem({ right: byTicket, generation: 7, holdId: 'lost' })).toEqual(result('admitted'));
      await state.cancel(shard, 'lost');
      expect(await redeem({ right: byTicket, generation: 6 })).toEqual({ result: 'invalid_ticket' });
      expect(await redeem({ right: byTicket, generation: 7 })).toEqual(result('admitted'));
    });
  });
}
