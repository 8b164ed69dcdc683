import type { RefusalCount } from '@sotto/state';
import { beforeEach, describe, expect, test } from 'vitest';
import { leaseMs, openEpoch } from '../fixtures.ts';
import { byKey, byTicket, type DrivenState, result, shard } from './world.ts';

const hourMs = 3_600_000;

/**
 * Counts of refusals. What could break one, and who could learn more than the kind and the hour:
 *
 * - Two brokers refuse at once: one script refuses and counts, so no count is lost.
 * - Control reads the same counts twice, or dies between its commit and the next read: counts only rise and have no "taken" mark, so a
 *   reader that stores the largest that it saw counts nothing twice.
 * - A shard loses data: the new epoch counts apart, so a count that begins again hides no refusal that was read before.
 * - A redeem is repeated, or undone: only a refusal counts, and an admitted request writes nothing.
 * - Control remembers keys, and repeats a refused mint with the key as it is now: only the second mint counts.
 * - A broker could learn whose right was refused: the answers are the same whether it is counted or not.
 */
export function refusalSuite(driven: DrivenState): void {
  const { fundKey, mint, putKey, redeem } = driven;
  describe('refusals', () => {
    const hourNow = (): number => Math.floor((driven.driver?.now() ?? 0) / hourMs);
    const read = (fromHour = 0): Promise<{ hour: number; counts: readonly RefusalCount[] }> =>
      driven.state.readRefusals(shard, fromHour);
    /** The counts of the key by kind. */
    const kinds = async (): Promise<Record<string, number>> =>
      Object.fromEntries((await read()).counts.map(({ kind, count }) => [kind, count]));
    const putBudget = (budgetId: string) =>
      driven.state.putBudget({ shard, budgetId, limitNusd: 5n, version: 1, keptSince: '2025-12', spent: [] });

    beforeEach(() => fundKey(100n));

    test('count by what refused them, and nothing else does', async () => {
      expect(await redeem({ amountNusd: 101n })).toEqual(result('insufficient', { scope: 'wallet' }));
      expect(await redeem({ amountNusd: 101n })).toEqual(result('insufficient', { scope: 'wallet' }));
      await putKey({ limitFundsNusd: 50n, fundsVersion: 2, generation: 2, limitRequests: 1, limitTokens: 10 });
      expect(await redeem({ generation: 2, amountNusd: 51n })).toEqual(result('insufficient', { scope: 'key' }));
      expect(await redeem({ generation: 2, estimatedTokens: 5 })).toEqual(result('admitted'));
      expect(await redeem({ generation: 2 })).toEqual(result('admitted'));
      expect(await redeem({ generation: 2, holdId: 'next' })).toEqual(result('rate_limited', { by: 'requests' }));
      await putKey({ limitFundsNusd: 50n, fundsVersion: 2, generation: 3, limitTokens: 10 });
      const tokens = { generation: 3, holdId: 'next', estimatedTokens: 6 };
      expect(await redeem(tokens)).toEqual(result('rate_limited', { by: 'tokens' }));
      expect(await redeem({ generation: 1 })).not.toEqual(result('insufficient'));
      expect(await redeem({ right: { kind: 'key', keyHash: 'unknown' }, holdId: 'unknown' })).toEqual(
        result('unknown_key'),
      );
      expect(await kinds()).toEqual({ balance: 2, key_limit: 1, requests: 1, tokens: 1 });
      const [first] = (await read()).counts;
      expect(first).toEqual({ hour: hourNow(), epoch: 1, keyHash: 'key', kind: expect.any(String), count: 2 });
    });

    test.each(['workspace', 'member', 'tag', 'key'])(
      'of a %s budget count, at a redeem and at a mint',
      async (scope) => {
        await putKey({ generation: 2, budgetIds: [`${scope}:one`] });
        await mint({ generation: 2 });
        await putBudget(`${scope}:one`);
        expect(await redeem({ right: byTicket, amountNusd: 6n })).toEqual(result('insufficient', { scope: 'budget' }));
        expect(await redeem({ generation: 2, amountNusd: 5n })).toEqual(result('admitted'));
        expect(await mint({ generation: 2, ticketHashes: ['later'] })).toEqual(result('over_budget'));
        expect(await kinds()).toEqual({ [`${scope}_budget`]: 2 });
      },
    );

    test('of a mint without balance count, once although control repeats it for a key that it remembered', async () => {
      await redeem({ amountNusd: 100n });
      expect(await mint({ secretHash: 'key' })).toEqual(result('insufficient'));
      expect(await mint()).toEqual(result('insufficient'));
      expect(await kinds()).toEqual({ balance: 1 });
    });

    test('of another process count by ticket and by key, but not of a ticket or a key that opens nothing', async () => {
      await mint();
      await driven.state.countRefusal({ shard, right: byTicket, kind: 'privacy' });
      await driven.state.countRefusal({ shard, right: byKey, kind: 'access' });
      for (const right of [{ kind: 'ticket', ticketHash: 'none' } as const, { ...byKey, keyHash: 'none' }])
        await driven.state.countRefusal({ shard, right, kind: 'access' });
      expect(await redeem({ right: byTicket })).toEqual(result('admitted'));
      await driven.state.countRefusal({ shard, right: byTicket, kind: 'privacy' });
      expect(await kinds()).toEqual({ privacy: 1, access: 1 });
    });

    test('of an anonymous wallet are refused alike, and leave nothing', async () => {
      const asked = { amountNusd: 101n, generation: 2 };
      await putKey({ generation: 2 });
      // The time until the next minute goes on.
      const rate = expect.objectContaining({ remainingRequests: 1_000_000, remainingTokens: 1_000_000_000 });
      const counted = { ...(await redeem(asked)), rate };
      await putKey({ generation: 2, countsRefusals: false });
      expect(await redeem(asked)).toEqual(counted);
      await redeem({ holdId: 'all', amountNusd: 100n, generation: 2 });
      expect(await mint({ generation: 2 })).toEqual(result('insufficient'));
      await driven.state.countRefusal({ shard, right: byKey, kind: 'access' });
      expect(await kinds()).toEqual({ balance: 1 });
    });

    test('of a removed key are not counted, while it still has a hold', async () => {
      await redeem({ amountNusd: 5n });
      await driven.removeKey(2);
      await driven.state.countRefusal({ shard, right: byKey, kind: 'access' });
      expect(await kinds()).toEqual({});
    });

    test('of several brokers at once are all counted', async () => {
      const other = await driven.joinOther();
      const refusals = Array.from({ length: 40 }, (_, at) =>
        driven.redeemAs(at % 2 === 0 ? driven.state : other, { holdId: `hold-${at}`, amountNusd: 101n }),
      );
      expect(new Set((await Promise.all(refusals)).map((reply) => reply.result))).toEqual(new Set(['insufficient']));
      expect(await kinds()).toEqual({ balance: 40 });
    });

    test('count by the hour, and are read from an hour on', async () => {
      await redeem({ amountNusd: 101n });
      const before = hourNow();
      driven.driver?.advance(hourMs);
      await driven.state.join(shard, { declaration: 'renewal', leaseMs: 2 * leaseMs }).catch(() => {});
      await driven.state.countRefusal({ shard, right: byKey, kind: 'access' });
      const { hour, counts } = await read();
      expect(hour).toBe(before + 1);
      expect(counts.map(({ hour, kind }) => [hour, kind])).toEqual([
        [before, 'balance'],
        [before + 1, 'access'],
      ]);
      expect((await read(before + 1)).counts.map(({ kind }) => kind)).toEqual(['access']);
    });

    test('count anew in a new epoch, beside those of the old one', async () => {
      await redeem({ amountNusd: 101n });
      await redeem({ amountNusd: 101n });
      await driven.state.discardEpoch(shard, 1);
      await driven.state.countRefusal({ shard, right: byKey, kind: 'access' });
      await openEpoch(driven.state, 2);
      await redeem({ amountNusd: 101n });
      const { counts } = await read();
      expect(counts.map(({ epoch, kind, count }) => [epoch, kind, count])).toEqual([
        [1, 'balance', 2],
        [2, 'balance', 1],
      ]);
    });
  });
}
