import { describe, expect, test } from 'vitest';
import { keyRecord } from '../fixtures.ts';
import { fund, putKey, redeem, result, shard, state, walletId } from './world.ts';

export function keySuite(): void {
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
}
