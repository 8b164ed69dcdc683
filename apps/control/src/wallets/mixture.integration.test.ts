import { randomInt } from 'node:crypto';
import { ServiceError } from '@sotto/wire';
import { expect, it } from 'vitest';
import { describeWallets, usd, type World } from './wallet-world.integration.ts';

describeWallets('anonymous wallets', (world) => {
  it('gives wallets no waived charges, because making one costs nothing', async () => {
    await world.fund();
    const wallet = await world.wallet();
    const held = (await world.hold(wallet, usd(1))) ?? '';
    await world.settle(wallet, held, { chargeNusd: usd(0.01), waivable: true });
    await world.book();
    expect(await world.balance(wallet.accountId)).toBe(usd(4.99));
  });

  it('adds up after any mixture of steps at once', async () => {
    const people = await Promise.all([world.account(60), world.account(35)]);
    const wallets: Awaited<ReturnType<World['wallet']>>[] = [];
    let signed = 0;
    const attempt = <T>(work: Promise<T>): Promise<T | undefined> =>
      work.catch((error: unknown) => {
        if (error instanceof ServiceError) return undefined;
        throw error;
      });
    for (let round = 0; round < 12; round += 1) {
      await Promise.all(
        Array.from({ length: 5 }, async () => {
          const what = randomInt(4);
          const person = people[randomInt(2)];
          const wallet = wallets[randomInt(Math.max(1, wallets.length))];
          if (what === 0 && person !== undefined)
            signed += (await attempt(world.withdraw(person.accountId)))?.length ?? 0;
          if (what === 1 && signed >= 50) {
            signed -= 50;
            wallets.push(await world.wallet());
          }
          if (what === 2 && wallet !== undefined) {
            const held = await world.hold(wallet, usd(0.9));
            if (held !== undefined) await world.settle(wallet, held, { chargeNusd: BigInt(randomInt(900_000_000)) });
          }
          if (what === 3 && wallet !== undefined) signed += (await attempt(world.close(wallet.secret)))?.length ?? 0;
        }),
      );
      await world.book();
    }
    expect(world.shortfalls).toEqual([]);
    for (const { accountId, walletId } of [...people, ...wallets]) {
      expect(await world.available(walletId)).toBe(await world.balance(accountId));
    }
    expect(await world.notes()).toEqual([]);
  });
});
