import { randomInt } from 'node:crypto';
import { hashSecret } from '@sotto/state';
import { creditNusd } from '@sotto/wire';
import type pg from 'pg';
import { inTransaction } from '../database/in-transaction.ts';
import { Refused, refused } from '../database/refused.ts';
import { revokeKey } from '../keys/key-store.ts';
import {
  type Batch,
  batchId,
  batchNusd,
  type CreditsDependencies,
  signAgain,
  signPaid,
  type Unavailable,
  type Unsignable,
  unsignable,
} from './batch.ts';
import { isEnabled, lockWithEpoch, moveToCredits, type NotMoved, tellState } from './move-to-credits.ts';

/** Why a wallet cannot be closed. `closed`: another batch has closed it. */
export type NotClosed =
  | Unavailable
  | Unsignable
  | NotMoved
  | { readonly why: 'no_wallet' }
  | { readonly why: 'disabled' }
  | { readonly why: 'closed' };

/**
 * Closes a wallet: revokes its key and, when nothing is held or unbooked any more, turns the balance into credits, at most a batch at once.
 * A rest below a credit becomes one with the probability rest ÷ credit. The draw is stored before its result leaves, and empties the
 * wallet, so nobody draws twice.
 *
 * The revocation reaches the state before the reservation finds nothing held, and the state counts both steps, so no request is
 * admitted in between. A charge of a broker that was taken for dead finds an empty wallet: it is the operator's shortfall.
 */
export async function closeWallet(deps: CreditsDependencies, batch: Batch): Promise<Buffer[] | Refused<NotClosed>> {
  const { pool, projector, random = randomInt } = deps;
  const known = await signAgain(deps, batch);
  if (known !== undefined) return known;
  const unfit = unsignable(deps, batch);
  if (unfit !== undefined) return unfit;
  const { rows } = await pool.query<{ account_id: string; key_id: string }>(
    'select account_id, key_id from wallets where close_hash = $1',
    [hashSecret(batch.paidBy.secret)],
  );
  const [wallet] = rows;
  if (wallet === undefined) return refused('no_wallet');
  if (!(await isEnabled(pool, wallet.account_id))) return refused('disabled');
  await inTransaction(pool, (client) => revokeKey(client, wallet.key_id));
  await projector.key(wallet.key_id);
  const accountId = wallet.account_id;
  const moved = await inTransaction(pool, async (client) => {
    const locked = await lockWithEpoch(client, accountId);
    if (locked instanceof Refused) return locked;
    if (!(await isEnabled(client, accountId))) return refused('disabled');
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
  if (moved instanceof Refused) return moved;
  if (moved !== undefined) await tellState(deps, moved);
  return signPaid(deps, batch, refused('closed'));
}

/** Whether a wallet has money left, of which another batch gets credits. */
export async function hasMore(pool: pg.Pool, closeSecret: string): Promise<boolean> {
  const { rowCount } = await pool.query(
    'select from wallets w join accounts a on a.id = w.account_id where w.close_hash = $1 and a.balance_nusd > 0',
    [hashSecret(closeSecret)],
  );
  return rowCount === 1;
}
