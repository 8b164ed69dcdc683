import { randomInt } from 'node:crypto';
import { ServiceError } from '@sotto/wire';
import { expect, it } from 'vitest';
import { describeWallets, usd, useWallets, type World } from './wallet-world.integration.ts';

await useWallets();

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
    const sign = async (work: Promise<readonly Buffer[]>): Promise<void> => {
      const signatures = await work.catch((error: unknown) => {
        if (error instanceof ServiceError) return [];
        throw error;
      });
      // After the wait, because others count meanwhile.
      signed += signatures.length;
    };
    for (let round = 0; round < 12; round += 1) {
      await Promise.all(
        Array.from({ length: 5 }, async () => {
          const what = randomInt(4);
          const person = people[randomInt(2)];
          const wallet = wallets[randomInt(Math.max(1, wallets.length))];
          if (what === 0 && person !== undefined) await sign(world.withdraw(person.accountId));
          if (what === 1 && signed >= 50) {
            signed -= 50;
            wallets.push(await world.wallet());
          }
          if (what === 2 && wallet !== undefined) {
            const held = await world.hold(wallet, usd(0.9));
            if (held !== undefined) await world.settle(wallet, held, { chargeNusd: BigInt(randomInt(900_000_000)) });
          }
          if (what === 3 && wallet !== undefined) await sign(world.close(wallet.secret));
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
