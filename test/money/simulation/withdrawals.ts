import { type Control, type Ground, shard } from './ground.ts';

/** The age at which `endReservations` of apps/control takes a reservation, in ms. */
const reservedMs = 30_000;

/** Withdraws as `withdrawCredits` of apps/control does, or everything as `closeWallet` does, but the key stays. */
export async function withdraw(ground: Ground, { state, database, locked }: Control): Promise<void> {
  const account = ground.account();
  const { walletId } = account;
  const alone = ground.random.chance(0.2);
  // Often all but a little, so that whatever else needs the money is in the way.
  const keptNusd = BigInt(ground.random.below(300));
  const losses = ground.dirty ? -1 : ground.losses;
  const withdrawal = await locked(() => ground.ledger.begin(account, { shard, now: ground.now }));
  const rollBack = () => database(() => ground.ledger.commit(withdrawal, 0n, ground.now));
  const { balanceNusd } = account;
  const amountNusd = alone || balanceNusd < keptNusd ? balanceNusd : balanceNusd - keptNusd;
  const noteId = `reservation:${walletId}:${ground.now}:${ground.name('')}`;
  if (ground.reserves) {
    const request = { shard, noteId, walletId, amountNusd, balanceNusd, alone };
    const reply = await state.reserve(request).catch(async (error: unknown) => {
      await rollBack();
      throw error;
    });
    ground.note(`withdrawal ${reply.result}`);
    if (reply.result !== 'reserved' || reply.epoch !== withdrawal.epoch) return void (await rollBack());
  } else if (balanceNusd < amountNusd) return void (await rollBack());
  const after = await database(() => {
    if (!ground.ledger.commit(withdrawal, amountNusd, ground.now)) return undefined;
    // Redis may have lost holds before it was asked, and neither it nor control could notice.
    if (losses !== ground.losses)
      for (const request of ground.open) if (request.key.account === account) request.excused = true;
    return { balanceNusd: account.balanceNusd, version: account.version };
  });
  if (after === undefined) return;
  ground.note('withdrawn');
  await state.book({ wallet: { shard, walletId, ...after }, keys: [], budgets: [], holdIds: [noteId] });
}

/** Ends old reservations, as `endReservations` of apps/control does. */
export async function endReservations(ground: Ground, { state, database, locked }: Control): Promise<void> {
  for (const noteId of await state.readNotes(shard)) {
    const [kind, walletId, at] = noteId.split(':');
    const account = ground.ledger.accounts.find((each) => each.walletId === walletId);
    if (kind !== 'reservation' || account === undefined || ground.now - Number(at) < reservedMs) continue;
    const lock = await locked(() => ground.ledger.begin(account, { shard, now: ground.now }));
    const { balanceNusd, version } = account;
    const wallet = { shard, walletId: account.walletId, balanceNusd, version };
    await state
      .book({ wallet, keys: [], budgets: [], holdIds: [noteId] })
      .finally(() => database(() => ground.ledger.commit(lock, 0n, ground.now)));
    ground.note('reservation ended');
  }
}
