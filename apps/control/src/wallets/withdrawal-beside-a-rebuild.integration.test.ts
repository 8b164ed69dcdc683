import { type State, StateUnavailableError, shardOfWallet } from '@sotto/state';
import { until } from '@sotto/test-servers';
import { expect, it } from 'vitest';
import { postgresEpochLedger } from '../shards/epoch-ledger.ts';
import { endReservations } from './end-reservations.ts';
import { clock, describeWallets, keys, pool, refused, usd, useWallets } from './wallet-world.integration.ts';

await useWallets();

describeWallets('a withdrawal beside the rebuild of its shard', (world) => {
  it('that still runs keeps its reservation, however old it is', async () => {
    const { accountId, walletId } = await world.account(5);
    const { state } = world;
    let ending: Promise<void> = Promise.resolve();
    let isEnded = false;
    const slow = {
      ...state,
      async reserve(request: Parameters<State['reserve']>[0]) {
        const reply = await state.reserve(request);
        clock.now += 60_000;
        ending = endReservations(world.deps()).then(() => {
          isEnded = true;
        });
        await until(async () => {
          const { rowCount } = await pool.query(
            "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
          );
          return rowCount === 1;
        }, 'the other process waits for the account');
        expect([isEnded, await world.available(walletId)]).toEqual([false, 0n]);
        return reply;
      },
    };
    await world.withdraw(accountId, { state: slow });
    await ending;
    expect([await world.balance(accountId), await world.available(walletId), await world.notes()]).toEqual([
      0n,
      0n,
      [],
    ]);
  });

  it('makes the rebuild of a lost shard wait, so that it writes the balance after it', async () => {
    const { accountId, walletId } = await world.account(5);
    const shard = shardOfWallet(walletId);
    const { state, projector, settler } = world;
    const ledger = postgresEpochLedger({ pool, projector, settler, accountRefKey: [keys.ref] });
    let rebuilt: Promise<void> = Promise.resolve();
    let isRecorded = false;
    const loses = {
      ...state,
      async reserve(request: Parameters<State['reserve']>[0]) {
        const reply = await state.reserve(request);
        // The shard loses all. A rebuild begins with an epoch, records it, and then writes balances.
        const at = (await state.readMembers(shard)).epoch ?? 0;
        await state.discardEpoch(shard, at);
        await state.beginEpoch(shard, at + 1);
        rebuilt = ledger.recordEpoch(shard, at + 1).then(async () => {
          isRecorded = true;
          const joined = { declaration: undefined, leaseMs: 1e9 };
          await state.join(shard, joined).catch(() => {});
          await state.join(shard, joined);
          await projector.account(accountId);
          await state.openEpoch(shard);
        });
        await until(async () => {
          const { rowCount } = await pool.query(
            "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
          );
          return rowCount === 1;
        }, 'the rebuild waits for the withdrawal');
        expect(isRecorded).toBe(false);
        return reply;
      },
    };
    await world.withdraw(accountId, { state: loses });
    await rebuilt;
    expect([await world.balance(accountId), await world.available(walletId), await world.notes()]).toEqual([
      0n,
      0n,
      [],
    ]);
  });

  it('is undone where the shard has another epoch than was recorded, or none', async () => {
    const { accountId, walletId } = await world.account(5);
    const shard = shardOfWallet(walletId);
    await pool.query('update shard_epochs set epoch = epoch + 1 where shard = $1', [shard]);
    await expect(world.withdraw(accountId)).rejects.toEqual(refused('service_unavailable'));
    await pool.query('update shard_epochs set epoch = epoch - 1 where shard = $1', [shard]);
    const { epoch: at = 0 } = await world.state.readMembers(shard);
    await world.state.discardEpoch(shard, at);
    await expect(world.withdraw(accountId)).rejects.toThrow(StateUnavailableError);
    expect(await world.balance(accountId)).toBe(usd(5));
  });
});
