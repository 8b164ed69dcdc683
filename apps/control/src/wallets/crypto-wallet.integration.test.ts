import { randomUUID } from 'node:crypto';
import { hashSecret } from '@sotto/state';
import { expect, it } from 'vitest';
import type { Batch } from './batch.ts';
import { hasMore } from './close-wallet.ts';
import {
  batchOf,
  closeWallet,
  credits,
  describeWallets,
  orderWallet,
  pool,
  refused,
  usd,
  useWallets,
} from './wallet-world.integration.ts';

await useWallets();

describeWallets('a wallet that crypto paid for', (world) => {
  it('has its hashes alone: of an order and a deposit of them at once, one succeeds and the other changes nothing', async () => {
    const orders = await world.orders();
    for (let round = 0; round < 4; round += 1) {
      await world.fund();
      const tokens = credits(50);
      const secret = randomUUID();
      const keyHash = hashSecret(randomUUID());
      // The same key, or the same secret.
      const own = round % 2 === 0 ? { keyHash } : { secret };
      const order = () => orderWallet(orders, { keyHash, closeHash: hashSecret(secret), packageId: 'usd-10' });
      const deposit = () => world.wallet({ tokens, ...own });
      const [ordered, deposited] = await Promise.allSettled([order(), deposit()]);
      const lost = [ordered, deposited].filter((each) => each.status === 'rejected');
      expect(lost).toEqual([{ status: 'rejected', reason: refused('conflict') }]);
      if (deposited.status === 'rejected') expect((await world.wallet({ tokens })).accountId).toBeDefined();
    }
  });

  it('is used like any, and turns into credits batch by batch, with one draw', async () => {
    const wallet = await world.paidWallet();
    expect(await world.available(wallet.walletId)).toBe(usd(10));
    const held = (await world.hold(wallet, usd(2))) ?? '';
    await world.settle(wallet, held, { chargeNusd: usd(1.27) });
    await world.book();
    const batches = [1, 2, 3].map(() => batchOf('close', wallet.secret));
    const draws: number[] = [];
    const random = (below: number): number => {
      draws.push(below);
      return 0;
    };
    const signed: Buffer[][] = [];
    const left: boolean[] = [];
    for (const batch of batches.slice(0, 2)) {
      signed.push(await closeWallet(world.deps({ random }), batch));
      left.push(await hasMore(pool, wallet.secret));
    }
    // 8.73 USD are 87 credits and 3 tenths of one, which was drawn.
    expect([signed.map(({ length }) => length), left]).toEqual([
      [50, 38],
      [true, false],
    ]);
    for (const [at, batch] of batches.slice(0, 2).entries())
      expect(await closeWallet(world.deps(), batch)).toEqual(signed[at]);
    await expect(closeWallet(world.deps(), batches[2] as Batch)).rejects.toEqual(refused('conflict'));
    expect([await world.balance(wallet.accountId), await world.available(wallet.walletId)]).toEqual([0n, 0n]);
  });

  it('closed by many batches at once is worth its balance', async () => {
    const wallet = await world.paidWallet('usd-25');
    const all = await Promise.allSettled(Array.from({ length: 8 }, () => world.close(wallet.secret)));
    const count = () =>
      pool.query<{ count: number }>(
        'select coalesce(sum(count), 0)::int as count from credit_issuances where account_id = $1',
        [wallet.accountId],
      );
    // 25 USD are five batches. Others find another's reservation, or nothing any more.
    for (const each of all) if (each.status === 'rejected') expect(each.reason).toEqual(refused('conflict'));
    while (await hasMore(pool, wallet.secret)) await world.close(wallet.secret);
    expect((await count()).rows[0]?.count).toBe(250);
    expect(await world.balance(wallet.accountId)).toBe(0n);
  });
});
