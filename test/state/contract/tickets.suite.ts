import { setTimeout as sleep } from 'node:timers/promises';
import { maxNusd } from '@sotto/money';
import { describe, expect, test } from 'vitest';
import { amounts, byTicket, fund, mint, putKey, redeem, result, settle, shard, state, wallet } from './world.ts';

export function ticketSuite(): void {
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
}
