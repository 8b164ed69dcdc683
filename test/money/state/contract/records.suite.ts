import { initialPreferences } from '@sotto/wire';
import { beforeEach, describe, expect, test } from 'vitest';
import { keyProjection, knownKey, leaseMs, outcome, putKeyIn } from '../fixtures.ts';
import { amounts, byKey, byTicket, type DrivenState, result, shard, ticketAt, unavailable, walletId } from './world.ts';

const workspaceId = 'workspace';
const stricter = { ...initialPreferences, provider_minimum_privacy: 'tee' } as const;
const second = keyProjection({ shard, keyHash: 'second', walletId });
const bySecond = { kind: 'key', keyHash: 'second' } as const;
const knownAt = (version: number) => ({
  ...knownKey({ shard, keyHash: 'key', walletId, version }),
  record: { ...knownKey({ shard, keyHash: 'key', walletId }).record, preferences: stricter },
});

export function workspaceSuite(driven: DrivenState): void {
  const { fundKey, mint, redeem, removeKey, wallet } = driven;
  const putPreferences = (version: number) =>
    driven.state.putWorkspace({ shard, workspaceId, version, preferences: stricter });
  const putUnreadable = (version: number) =>
    driven.state.putWorkspace({ shard, workspaceId, version, preferences: undefined });

  describe('the preferences of a workspace', () => {
    beforeEach(async () => {
      await fundKey(100n);
      await putKeyIn(driven.state, second);
    });

    test('change for all of its keys and tickets by one write', async () => {
      await mint();
      await mint({ keyHash: 'second', ticketHashes: ['of second'] });
      await putPreferences(2);
      for (const right of [byKey, bySecond]) {
        expect(await redeem({ right })).toEqual(result('stale_key'));
        expect(await redeem({ right, version: 2, holdId: right.keyHash })).toEqual(result('admitted'));
      }
      expect(await driven.state.lookupKey('key')).toEqual(knownAt(2));
      for (const ticketHash of ['ticket', 'of second']) {
        expect(await driven.state.peek({ ...ticketAt(shard), right: { kind: 'ticket', ticketHash } })).toBeUndefined();
        for (const version of [1, 2]) {
          const asked = { right: { kind: 'ticket', ticketHash }, version } as const;
          expect(await redeem(asked)).toEqual({ result: 'invalid_ticket' });
        }
      }
      expect(await mint({ ticketHashes: ['new'] })).toEqual({ result: 'not_projected' });
      expect(await mint({ ticketHashes: ['new'], version: 2 })).toEqual({ result: 'minted' });
    });

    test('have a version that does not tell a broker which keys share them', async () => {
      const generations = async () => [await driven.state.lookupKey('key'), await driven.state.lookupKey('second')];
      const shown = async () => (await generations()).map((key) => key?.generation);
      const before = await shown();
      await putPreferences(2);
      const all = [...before, ...(await shown())];
      expect(new Set(all).size).toBe(4);
      for (const generation of all) expect(generation).toMatch(/^[0-9a-f]{40}$/);
    });

    test('that were tightened between the mint and the redeem are not passed by an undone redeem', async () => {
      await mint();
      expect(await redeem({ right: byTicket, holdId: 'lost' })).toEqual(result('admitted'));
      await putPreferences(2);
      await driven.state.cancel(shard, 'lost');
      expect(await redeem({ right: byTicket })).toEqual({ result: 'invalid_ticket' });
      expect(await wallet()).toEqual(amounts(0n, 0n));
    });

    test('have the newest version, whatever version of its keys arrives, and in any order', async () => {
      await putPreferences(10);
      await putUnreadable(9);
      expect(await driven.state.lookupKey('key')).toEqual(knownAt(10));
      expect(await driven.state.putKey(keyProjection({ shard, keyHash: 'key', walletId, generation: 2 }))).toBe(false);
      expect(await redeem({ generation: 2, version: 10 })).toEqual(result('admitted'));
      expect(await redeem({ generation: 1, version: 11, holdId: 'other' })).toEqual(result('stale_key'));
      // The key tells of preferences that the state does not have yet.
      const workspace = { workspaceId, version: 11 };
      expect(await driven.state.putKey({ ...second, workspace })).toBe(true);
      expect(await redeem({ right: bySecond, version: 10, holdId: 'second' })).toEqual(result('admitted'));
    });

    test('that are unreadable permit nothing', async () => {
      await mint();
      await putUnreadable(1);
      expect(await outcome(driven.state.lookupKey('key'))).toEqual({ answer: undefined });
      expect(await outcome(driven.state.peek({ shard, right: byKey }))).toEqual({ answer: undefined });
      expect(await redeem()).toEqual({ result: 'unknown_key' });
      expect(await redeem({ right: byTicket })).toEqual({ result: 'invalid_ticket' });
      expect(await mint({ ticketHashes: ['new'] })).toEqual({ result: 'not_projected' });
      await putPreferences(2);
      expect(await redeem({ version: 2 })).toEqual(result('admitted'));
    });

    test('that only permit more than before leave earlier tickets valid, until a version that does not', async () => {
      const looser = (version: number) =>
        driven.state.putWorkspace({ shard, workspaceId, version, ticketsSince: 1, preferences: stricter });
      await mint({ ticketHashes: ['first', 'second', 'third'] });
      const redeemTicket = (ticketHash: string, version: number) =>
        redeem({ right: { kind: 'ticket', ticketHash }, version, holdId: ticketHash });
      await looser(2);
      expect(
        await driven.state.peek({ ...ticketAt(shard), right: { kind: 'ticket', ticketHash: 'first' } }),
      ).toBeDefined();
      expect(await redeemTicket('first', 1)).toEqual(result('admitted'));
      // A key is planned with the newest preferences.
      expect(await redeem({ holdId: 'by key' })).toEqual(result('stale_key'));
      // A late projection of the older version changes nothing.
      await putPreferences(1);
      await looser(3);
      expect(await redeemTicket('second', 1)).toEqual(result('admitted'));
      await putPreferences(4);
      expect(await redeemTicket('third', 1)).toEqual({ result: 'invalid_ticket' });
    });

    test('that the state lacks are not taken for others', async () => {
      const workspace = { workspaceId: 'another', version: 1 };
      expect(await driven.state.putKey({ ...second, generation: 2, workspace })).toBe(true);
      const asked = { right: bySecond, generation: 2 };
      await expect(driven.state.lookupKey('second')).rejects.toThrow('not projected');
      await expect(driven.state.peek({ shard, right: bySecond })).rejects.toThrow('not projected');
      await expect(redeem(asked)).rejects.toThrow('not projected');
      expect(await mint({ keyHash: 'second', generation: 2 })).toEqual({ result: 'not_projected' });
      await driven.state.putWorkspace({ shard, ...workspace, preferences: stricter });
      expect(await redeem(asked)).toEqual(result('admitted'));
    });

    test('go with the last key that names them, and an older version does not come back with a late key', async () => {
      await putPreferences(3);
      await removeKey(2);
      expect(await redeem({ right: bySecond, version: 3, holdId: 'left' })).toEqual(result('admitted'));
      await driven.state.removeKey({ shard, keyHash: 'second', generation: 2, isNews: true });
      // A key that was read before the change arrives, and then the preferences as they were read with it.
      const late = keyProjection({ shard, keyHash: 'late', walletId });
      expect(await driven.state.putKey(late)).toBe(true);
      await putUnreadable(1);
      expect(await outcome(driven.state.lookupKey('late'))).toEqual(unavailable);
      await putPreferences(3);
      expect(await redeem({ right: { kind: 'key', keyHash: 'late' }, version: 3 })).toEqual(result('admitted'));
    });

    test('that changed while no key named them are not undone by an older version', async () => {
      await driven.state.putWorkspace({ shard, workspaceId: 'empty', version: 2, preferences: stricter });
      const workspace = { workspaceId: 'empty', version: 1 };
      expect(await driven.state.putKey({ ...second, generation: 2, workspace })).toBe(true);
      await driven.state.putWorkspace({ shard, ...workspace, preferences: initialPreferences });
      expect(await outcome(driven.state.lookupKey('second'))).toEqual(unavailable);
      await driven.state.putWorkspace({ shard, workspaceId: 'empty', version: 2, preferences: stricter });
      expect(await driven.state.lookupKey('second')).toMatchObject({ record: { preferences: stricter } });
    });
  });
}

export function removalSuite(driven: DrivenState): void {
  const { fund, fundKey, joinOther, mint, putKey, reapOther, redeem, redeemAs, removeKey, settle, wallet } = driven;
  describe('a key that is removed', () => {
    beforeEach(() => fundKey(100n));
    const keyFunds = async () => {
      const books = await driven.state.readBooks(shard, { walletIds: [], keyHashes: ['key'], budgetIds: [] });
      return books.keys.get('key');
    };

    test('opens nothing from then on, and what is under way is charged', async () => {
      await mint();
      await redeem({ amountNusd: 60n });
      await removeKey(2);
      expect(await driven.state.lookupKey('key')).toBeUndefined();
      expect(await driven.state.peek({ shard, right: byKey })).toBeUndefined();
      expect(await driven.state.peek(ticketAt(shard))).toBeUndefined();
      for (const generation of [1, 2]) {
        expect(await redeem({ generation, holdId: 'next' })).toEqual({ result: 'unknown_key' });
        expect(await redeem({ right: byTicket, generation, holdId: 'next' })).toEqual({ result: 'invalid_ticket' });
      }
      expect(await mint({ ticketHashes: ['new'], generation: 2 })).toEqual({ result: 'not_projected' });
      // The answer to the redeem was lost, and it is sent again.
      expect(await redeem({ amountNusd: 60n })).toEqual(result('admitted'));
      await settle(40n);
      expect(await wallet()).toEqual(amounts(0n, 40n));
    });

    test('keeps its sums while anything counts in them, however late it comes back', async () => {
      await putKey({ limitFundsNusd: 50n, fundsVersion: 2 });
      await redeem({ amountNusd: 20n });
      await redeem({ holdId: 'charged', amountNusd: 20n });
      await removeKey(2);
      await settle(15n, 'charged');
      driven.driver?.advance(3_600_000);
      await driven.state.join(shard, { declaration: 'renewal', leaseMs });
      await putKey({ generation: 3, limitFundsNusd: 50n, fundsVersion: 2 });
      expect(await keyFunds()).toMatchObject({ heldNusd: 20n, unbookedNusd: 15n, holdsNusd: 20n, notesNusd: 15n });
      expect(await redeem({ generation: 3, holdId: 'next', amountNusd: 16n })).toEqual(
        result('insufficient', { scope: 'key' }),
      );
      expect(await redeem({ generation: 3, holdId: 'next', amountNusd: 15n })).toEqual(result('admitted'));
    });

    test('counts a hold that a rebuild restores, or that is charged after its broker was given up, and ends with it', async () => {
      await redeemAs(await joinOther(), { amountNusd: 30n });
      expect(await reapOther()).toBe(1);
      await removeKey(2);
      await settle(30n);
      expect(await wallet()).toEqual(amounts(0n, 30n));
      const keys = [{ keyHash: 'key', limitFundsNusd: undefined, version: 9 }];
      const booked = { shard, walletId, balanceNusd: 70n, version: 2 };
      await driven.state.book({ wallet: booked, keys, budgets: [], holdIds: ['hold'] });
      expect(await wallet()).toEqual(amounts(0n, 0n));
      await putKey({ generation: 3, fundsVersion: 8, limitFundsNusd: 1n });
      expect(await redeem({ generation: 3, holdId: 'next', amountNusd: 70n })).toEqual(result('admitted'));
    });

    test('leaves nothing where there was nothing, unless the removal is news', async () => {
      await driven.state.removeKey({ shard, keyHash: 'unknown', generation: 2, isNews: false });
      await putKeyIn(driven.state, keyProjection({ shard, keyHash: 'unknown', walletId }));
      expect(await driven.state.lookupKey('unknown')).toBeDefined();
      await driven.state.removeKey({ shard, keyHash: 'other', generation: 2, isNews: true });
      await putKeyIn(driven.state, keyProjection({ shard, keyHash: 'other', walletId }));
      expect(await driven.state.lookupKey('other')).toBeUndefined();
    });

    test('works again when it is enabled, and an older removal that arrives late does not end it', async () => {
      await removeKey(2);
      await putKey({ generation: 3 });
      await removeKey(2);
      expect(await redeem({ generation: 3 })).toEqual(result('admitted'));
      expect(await driven.state.lookupKey('key')).toBeDefined();
    });

    test('takes part in its rate limit again when it is enabled in the same minute', async () => {
      await putKey({ generation: 2, limitRequests: 2 });
      for (const holdId of ['1', '2']) await redeem({ generation: 2, holdId });
      await removeKey(3);
      await putKey({ generation: 4, limitRequests: 2 });
      expect(await redeem({ generation: 4, holdId: '3' })).toEqual(result('rate_limited'));
    });
  });

  test('a budget that is removed is not brought back by an older limit that arrives late', async () => {
    const budget = { shard, budgetId: 'workspace:team' };
    const limited = { ...budget, limitNusd: 5n, keptSince: '2020-01', spent: [] };
    await fund(100n);
    await putKey({ budgetIds: [budget.budgetId] });
    await driven.state.putBudget({ ...limited, version: 1 });
    expect(await redeem()).toEqual(result('insufficient', { scope: 'budget' }));
    await driven.state.removeBudget({ ...budget, version: 2, isNews: true });
    await driven.state.putBudget({ ...limited, version: 1 });
    expect(await redeem()).toEqual(result('admitted'));
    await driven.state.putBudget({ ...limited, version: 3 });
    await driven.state.removeBudget({ ...budget, version: 2, isNews: true });
    expect(await redeem({ holdId: 'next', amountNusd: 1n })).toEqual(result('insufficient', { scope: 'budget' }));
  });
}
