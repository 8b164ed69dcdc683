import { randomInt } from 'node:crypto';
import { hashSecret } from '@sotto/state';
import { creditNusd, ServiceError } from '@sotto/wire';
import type pg from 'pg';
import { inTransaction } from '../database/in-transaction.ts';
import { revokeKey } from '../keys/key-store.ts';
import {
  assertSignable,
  type Batch,
  batchId,
  batchNusd,
  type CreditsDependencies,
  signAgain,
  signPaid,
} from './batch.ts';
import { assertEnabled, lockWithEpoch, moveToCredits, tellState } from './move-to-credits.ts';

/**
 * Closes a wallet: revokes its key and, when nothing is held or unbooked any more, turns the balance into credits, at most a batch at once.
 * A rest below a credit becomes one with the probability rest ÷ credit. The draw is stored before its result leaves, and empties the
 * wallet, so nobody draws twice.
 *
 * The revocation reaches the state before the reservation finds nothing held, and the state counts both steps, so no request is
 * admitted in between. A charge of a broker that was taken for dead finds an empty wallet: it is the operator's shortfall.
 */
export async function closeWallet(deps: CreditsDependencies, batch: Batch): Promise<Buffer[]> {
  const { pool, projector, random = randomInt } = deps;
  const known = await signAgain(deps, batch);
  if (known !== undefined) return known;
  assertSignable(deps, batch);
  const { rows } = await pool.query<{ account_id: string; key_id: string }>(
    'select account_id, key_id from wallets where close_hash = $1',
    [hashSecret(batch.paidBy.secret)],
  );
  const [wallet] = rows;
  if (wallet === undefined) throw new ServiceError('not_found', { message: 'No wallet has this secret.' });
  await assertEnabled(pool, wallet.account_id);
  await inTransaction(pool, (client) => revokeKey(client, wallet.key_id));
  await projector.key(wallet.key_id);
  const accountId = wallet.account_id;
  const moved = await inTransaction(pool, async (client) => {
    const locked = await lockWithEpoch(client, accountId);
    await assertEnabled(client, accountId);
    const { balanceNusd } = locked.account;
    const closing = await client.query(
      'update wallets set closed_by = $2 where account_id = $1 and (closed_by is null or $3::bigint > 0)',
      [accountId, batchId(batch), balanceNusd],
    );
    if (closing.rowCount === 0) return undefined;
    const isWhole = balanceNusd / batchNusd > 0n;
    const nusd = isWhole ? batchNusd : balanceNusd;
    const isRoundedUp = random(Number(creditNusd)) < Number(nusd % creditNusd);
    const count = Number(nusd / creditNusd) + (isRoundedUp ? 1 : 0);
    return moveToCredits(deps, client, batch, { ...locked, accountId, nusd, count, alone: true });
  });
  if (moved !== undefined) await tellState(deps, moved);
  return signPaid(deps, batch, isClosed());
}

const isClosed = (): ServiceError =>
  new ServiceError('conflict', {
    message: 'Another batch has closed this wallet. Send that one again for its credits.',
  });

/** Whether a wallet has money left, of which another batch gets credits. */
export async function hasMore(pool: pg.Pool, closeSecret: string): Promise<boolean> {
  const { rowCount } = await pool.query(
    'select from wallets w join accounts a on a.id = w.account_id where w.close_hash = $1 and a.balance_nusd > 0',
    [hashSecret(closeSecret)],
  );
  return rowCount === 1;
}
