import { randomBytes, randomUUID } from 'node:crypto';
import { createMemoryState, MemoryStore, monthOf, type State, shardOfWallet, shards } from '@sotto/state';
import { until } from '@sotto/test-servers';
import { beforeEach, expect, it } from 'vitest';
import { inTransaction } from '../database/in-transaction.ts';
import { insertKey } from '../keys/key-store.ts';
import { type BookedWallet, bookSettlements } from '../ledger/book-settlements.ts';
import { creditAccount } from '../ledger/post-transaction.ts';
import { Projector } from '../projection/projector.ts';
import { done } from '../testing/outcomes.integration.ts';
import { makeOwners, openTestDatabase, settledChat } from '../testing/test-database.integration.ts';
import { setPolicy } from './set-policy.ts';

const { pool } = await openTestDatabase();
const open = { allowedModels: null, maxKeyLimitNusd: null, maxKeyDays: null, openaiCompatible: true };

let store: MemoryStore;
let state: State;
let projector: Projector;
beforeEach(async () => {
  store = new MemoryStore(Date.now);
  state = createMemoryState({ store });
  for (const shard of shards) {
    await state.beginEpoch(shard, 1);
    const join = () => state.join(shard, { declaration: undefined, leaseMs: 3_600_000 });
    await join().catch(join);
    await state.openEpoch(shard);
  }
  projector = new Projector({
    ...{ pool, state, accountRefKey: randomBytes(32), limits: { requests: 60, tokens: 60 } },
    events: { projected: () => {}, unreadablePreferences: () => {} },
  });
});

/** Resolves when so many statements wait for a lock. */
const waiting = (most: number): Promise<void> =>
  until(async () => {
    const { rows } = await pool.query<{ count: number }>(
      `select count(*)::int as count from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    );
    return rows[0]?.count === most;
  }, `${most} wait for a lock`);

/** A projected key with a balance behind it. */
async function projectedKey() {
  const [owner] = await makeOwners(pool, 1);
  await creditAccount(pool, { ...owner, amountNusd: 10_000n, kind: 'top_up', reference: randomUUID() });
  await projector.account(owner.accountId);
  await projector.key(owner.keyId);
  const { rows } = await pool.query<{ hash: string; wallet_id: string }>(
    'select k.hash, a.wallet_id from api_keys k join accounts a on a.id = k.account_id where k.id = $1',
    [owner.keyId],
  );
  const [row] = rows;
  if (row === undefined) throw new Error('the key is not there');
  const { hash, wallet_id: walletId } = row;
  const book = (nusd: bigint) =>
    bookSettlements(pool, [
      {
        settlement: {
          ...settledChat,
          id: randomUUID(),
          chargeNusd: nusd.toString(),
          at: 0,
          month: monthOf(Date.now()),
        },
        owner,
      },
    ]);
  const shard = shardOfWallet(walletId);
  const fundsNow = async () => {
    const { keys } = await state.readBooks(shard, { walletIds: [], keyHashes: [hash], budgetIds: [] });
    return keys.get(hash)?.fundsNusd;
  };
  const write = async (wallets: readonly BookedWallet[]): Promise<void> => {
    for (const { walletId: id, balanceNusd, version, keys, budgets, holdIds } of wallets)
      await state.book({ wallet: { shard, walletId: id, balanceNusd, version }, keys, budgets, holdIds });
  };
  return { owner, book, write, fundsNow };
}

// A booking writes what is left of a key, and a policy changes it at the same time. Each computes it in its own transaction, and
// writes it to the state afterwards. If the one that saw less could get the higher version, or the state kept the older one, a key
// could spend beyond the policy. Here a third transaction holds the key's row until both wait for it, in either order, and the
// state gets both results, in either order.
it.each([
  ['booking', 'booking'],
  ['booking', 'policy'],
  ['policy', 'booking'],
  ['policy', 'policy'],
])('a key has what the policy leaves it, where the %s waits first and the %s writes first', async (first, writer) => {
  const { owner, book, write, fundsNow } = await projectedKey();
  const policy = { ...open, maxKeyLimitNusd: 1_000n };
  const booking = () => book(300n);
  const setting = () => done(setPolicy(pool, owner, policy));
  const begun = await inTransaction(pool, async (client) => {
    await client.query('select 1 from api_keys where id = $1 for update', [owner.keyId]);
    const one = first === 'booking' ? booking() : setting();
    await waiting(1);
    const other = first === 'booking' ? setting() : booking();
    await waiting(2);
    return first === 'booking' ? ([one, other] as const) : ([other, one] as const);
  });
  const [booked, keyIds] = (await Promise.all(begun)) as [Awaited<ReturnType<typeof book>>, readonly string[]];
  expect(keyIds).toEqual([owner.keyId]);
  const writes = [() => write(booked.wallets), () => projector.keys(keyIds)];
  for (const each of writer === 'booking' ? writes : writes.toReversed()) await each();
  expect(await fundsNow()).toBe(700n);
  await write((await book(200n)).wallets);
  expect(await fundsNow()).toBe(500n);
});

// A key that is created while a policy is set was not there when the policy raised the versions of keys. Its insertion locks the
// workspace for the foreign key, so one of the two waits for the other, whether or not the creation locks the workspace itself.
it('a key that is being created is bound, too', async () => {
  const { owner } = await projectedKey();
  let setting: Promise<readonly string[]> | undefined;
  const id = await inTransaction(pool, async (client) => {
    const key = { ...owner, kind: 'inference', name: 'x', openaiCompatible: true } as const;
    const created = await insertKey(client, { ...key, creditLimitNusd: undefined });
    setting = done(setPolicy(pool, owner, { ...open, maxKeyDays: 1 }));
    await waiting(1);
    return created.id;
  });
  expect((await setting)?.toSorted()).toEqual([id, owner.keyId].sort());
});

it('a policy that changes nothing voids no ticket', async () => {
  const { owner } = await projectedKey();
  expect(await done(setPolicy(pool, owner, open))).toEqual([]);
  const strict = { ...open, allowedModels: ['acme/*'], openaiCompatible: false };
  expect(await done(setPolicy(pool, owner, strict))).toEqual([owner.keyId]);
  expect(await done(setPolicy(pool, owner, strict))).toEqual([]);
});
