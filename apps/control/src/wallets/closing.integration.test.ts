import { type State, StateUnavailableError, shardOfWallet } from '@sotto/state';
import { expect, it } from 'vitest';
import type { CreditsDependencies } from './batch.ts';
import { endReservations } from './end-reservations.ts';
import {
  batchOf,
  clock,
  closeWallet,
  describeWallets,
  died,
  pool,
  refused,
  usd,
  useWallets,
  withdrawCredits,
} from './wallet-world.integration.ts';

await useWallets();

describeWallets('closing a wallet', (world) => {
  it('waits for requests, then turns the balance into credits with one draw, once', async () => {
    await world.fund();
    const wallet = await world.wallet();
    const held = await world.hold(wallet, usd(2));
    const batch = batchOf('close', wallet.secret);
    await expect(closeWallet(world.deps(), batch)).rejects.toEqual(refused('conflict'));
    expect(await world.hold(wallet, 1n), 'its key is revoked at once').toBeUndefined();
    await world.settle(wallet, held ?? '', { chargeNusd: usd(1.27) });
    await expect(closeWallet(world.deps(), batch)).rejects.toEqual(refused('conflict'));
    await world.book();
    // 3.73 USD are 37 credits and 3 tenths of one.
    const draws: number[] = [];
    const random = (below: number): number => {
      draws.push(below);
      return 29_999_999;
    };
    expect(await closeWallet(world.deps({ random }), batch)).toHaveLength(38);
    expect(await closeWallet(world.deps({ random: () => 99_999_999 }), batch)).toHaveLength(38);
    expect(draws).toEqual([100_000_000]);
    await expect(world.close(wallet.secret)).rejects.toEqual(refused('conflict'));
    expect([await world.balance(wallet.accountId), await world.available(wallet.walletId)]).toEqual([0n, 0n]);
    // The same batch, sent to the other route, is worth nothing.
    await expect(
      withdrawCredits(world.deps(), { ...batch, paidBy: { kind: 'code', secret: wallet.secret } }),
    ).rejects.toEqual(refused('forbidden'));
    await expect(world.close('another secret')).rejects.toEqual(refused('not_found'));
  });

  it('of an account that the operator disabled is refused and changes nothing, also if that happens meanwhile', async () => {
    await world.fund();
    const wallet = await world.wallet();
    const setDisabled = async (at: Date | null): Promise<void> => {
      await pool.query('update accounts set disabled_at = $2 where id = $1', [wallet.accountId, at]);
    };
    await setDisabled(new Date());
    await expect(world.close(wallet.secret)).rejects.toEqual(refused('forbidden'));
    await setDisabled(null);
    const held = await world.hold(wallet, usd(5));
    expect(held, 'its key was not revoked').toBeDefined();
    await world.state.cancel(shardOfWallet(wallet.walletId), held ?? '');
    // Between the two transactions of a closing.
    const projector = { ...world.projector, key: () => setDisabled(new Date()) } as never;
    await expect(world.close(wallet.secret, { projector })).rejects.toEqual(refused('forbidden'));
    expect([await world.balance(wallet.accountId), await world.notes()]).toEqual([usd(5), []]);
    await setDisabled(null);
    expect(await world.close(wallet.secret)).toHaveLength(50);
  });

  it('rounds without bias: a rest of three tenths is a credit in three of ten draws', async () => {
    await world.fund();
    const wallet = await world.wallet();
    const held = await world.hold(wallet, usd(1));
    await world.settle(wallet, held ?? '', { chargeNusd: usd(0.97) });
    await world.book();
    expect(await world.close(wallet.secret, { random: () => 30_000_000 })).toHaveLength(40);
    expect(await world.balance(wallet.accountId)).toBe(0n);
  });

  it('by two batches at once signs one of them', async () => {
    await world.fund();
    const wallet = await world.wallet();
    const both = await Promise.allSettled([world.close(wallet.secret), world.close(wallet.secret)]);
    expect(both.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    const batch = batchOf('close', wallet.secret);
    await expect(closeWallet(world.deps(), batch)).rejects.toEqual(refused('conflict'));
  });

  it('survives the death of control after each step, and draws once', async () => {
    await world.fund();
    const wallet = await world.wallet();
    const batch = batchOf('close', wallet.secret);
    const { state, projector } = world;
    const failing = (own: Partial<CreditsDependencies>) => closeWallet(world.deps({ random: () => 0, ...own }), batch);
    await expect(failing({ projector: { ...projector, key: () => Promise.reject(died) } as never })).rejects.toBe(died);
    const diesReserving = {
      ...state,
      reserve: (request: Parameters<State['reserve']>[0]) => state.reserve(request).then(() => Promise.reject(died)),
    };
    await expect(failing({ state: diesReserving })).rejects.toBe(died);
    await expect(failing({})).rejects.toEqual(refused('conflict'));
    clock.now += 31_000;
    await endReservations(world.deps());
    const diesTelling = { ...state, book: () => Promise.reject(new StateUnavailableError('timeout')) };
    const signatures = await failing({ state: diesTelling });
    expect(signatures).toHaveLength(50);
    expect(await failing({ random: () => 1 })).toEqual(signatures);
    clock.now += 31_000;
    await endReservations(world.deps());
    expect([await world.available(wallet.walletId), await world.notes()]).toEqual([0n, []]);
  });

  it('leaves a charge that arrives later to the operator', async () => {
    await world.fund();
    const wallet = await world.wallet();
    const held = (await world.hold(wallet, usd(1))) ?? '';
    // Its broker was taken for dead, so its hold was released.
    await world.state.cancel(shardOfWallet(wallet.walletId), held);
    expect(await world.close(wallet.secret)).toHaveLength(50);
    await world.settle(wallet, held, { chargeNusd: usd(0.5) });
    await world.book();
    expect(world.shortfalls).toEqual([usd(0.5)]);
    expect(await world.balance(wallet.accountId)).toBe(0n);
  });
});
