import { hashSecret } from '@sotto/state';
import { creditsPerBatch } from '@sotto/wire';
import type pg from 'pg';
import { isDisputed } from '../database/billing-schema.ts';
import { inTransaction } from '../database/in-transaction.ts';
import { Refused, refused } from '../database/refused.ts';
import { ledgerAccounts } from '../ledger/post-transaction.ts';
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

/** The most batches that leave accounts in 24 hours: of one account, and in all. */
const batchesADay = { ofOne: 10, ofAll: 2_000 };
const dayMs = 86_400_000;

/** Why an account cannot withdraw. */
type NotWithdrawable =
  | { readonly why: 'disabled' }
  | { readonly why: 'disputed' }
  /** The limit of 24 hours is reached. */
  | { readonly why: 'limit' }
  /** Too little of the balance was paid by crypto. */
  | { readonly why: 'not_crypto' };

export type NotWithdrawn = Unavailable | Unsignable | NotWithdrawable | NotMoved | { readonly why: 'no_code' };

/**
 * Withdraws a batch from the account that a code names: lock, reserve in the state, book, commit, write to the state, sign. A request that
 * is repeated after any of these steps gets the same signatures. docs/decisions/anonymous-wallets.md lists the interleavings.
 */
export async function withdrawCredits(
  deps: CreditsDependencies,
  batch: Batch,
): Promise<Buffer[] | Refused<NotWithdrawn>> {
  const { pool, now } = deps;
  const known = await signAgain(deps, batch);
  if (known !== undefined) return known;
  const unfit = unsignable(deps, batch);
  if (unfit !== undefined) return unfit;
  const code = [hashSecret(batch.paidBy.secret), new Date(now())];
  const valid = 'from credit_codes where code_hash = $1 and expires_at > $2 and lots > 0';
  const open = await pool.query(`select ${valid}`, code);
  if (open.rowCount === 0) return signPaid(deps, batch, refused('no_code'));
  const moved = await inTransaction(pool, async (client) => {
    const used = await client.query<{ account_id: string }>(`select account_id ${valid} for update`, code);
    const accountId = used.rows[0]?.account_id;
    if (accountId === undefined) return undefined;
    // A statement after the lock, so that it sees what a request for the same batch has committed meanwhile.
    const { rowCount } = await client.query('select from credit_issuances where id = $1', [batchId(batch)]);
    if (rowCount !== 0) return undefined;
    await client.query('update credit_codes set lots = lots - 1 where account_id = $1', [accountId]);
    const locked = await lockWithEpoch(client, accountId);
    if (locked instanceof Refused) return locked;
    const { balanceNusd } = locked.account;
    const held = await notWithdrawable(client, { accountId, balanceNusd, now: now() });
    if (held !== undefined) return held;
    return moveToCredits(deps, client, batch, {
      ...locked,
      accountId,
      nusd: batchNusd,
      count: creditsPerBatch,
      alone: false,
    });
  });
  if (moved instanceof Refused) return moved;
  if (moved !== undefined) await tellState(deps, moved);
  return signPaid(deps, batch, refused('no_code'));
}

/**
 * Refuses a withdrawal beyond what crypto payments left. Credits cannot be called back, but cards can, for months, and grants are not
 * money. Charges count against crypto first: all that ever came from elsewhere stays.
 */
async function notWithdrawable(
  client: pg.PoolClient,
  { accountId, balanceNusd, now }: { readonly accountId: string; readonly balanceNusd: bigint; readonly now: number },
): Promise<Refused<NotWithdrawable> | undefined> {
  if (!(await isEnabled(client, accountId))) return refused('disabled');
  const { rows } = await client.query<{ disputed: boolean; other: string; of_one: number; of_all: number }>(
    `select exists (select from orders o where o.account_id = $1 and ${isDisputed}) as disputed,
       (select coalesce(sum(e.amount_nusd), 0)::text from ledger_entries e
         where e.ledger_account = $2 and e.amount_nusd > 0 and not exists (
           select from ledger_entries f where f.transaction_id = e.transaction_id and f.ledger_account = any($3::text[])
         )) as other,
       (select count(*)::int from credit_issuances where account_id = $1 and created_at > $4) as of_one,
       (select count(*)::int from credit_issuances i where created_at > $4
         and not exists (select from wallets w where w.account_id = i.account_id)) as of_all`,
    // The test rail is no money either way, and lets an operator try this.
    [
      accountId,
      ledgerAccounts.wallet(accountId),
      ['crypto', 'test'].map(ledgerAccounts.fundingBy),
      new Date(now - dayMs),
    ],
  );
  const [found] = rows;
  if (found === undefined) throw new Error('the account was not read');
  if (found.disputed) return refused('disputed');
  if (found.of_one >= batchesADay.ofOne || found.of_all >= batchesADay.ofAll) return refused('limit');
  return balanceNusd - BigInt(found.other) >= batchNusd ? undefined : refused('not_crypto');
}

/** The batches that a code may still withdraw. 0: it is used up, or there is no such code. */
export async function lotsLeft(pool: pg.Pool, code: string): Promise<number> {
  const { rows } = await pool.query<{ lots: number }>('select lots from credit_codes where code_hash = $1', [
    hashSecret(code),
  ]);
  return rows[0]?.lots ?? 0;
}
