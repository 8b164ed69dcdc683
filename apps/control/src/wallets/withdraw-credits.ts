import { hashSecret } from '@sotto/state';
import { creditsPerBatch, ServiceError } from '@sotto/wire';
import type pg from 'pg';
import { isDisputed } from '../database/billing-schema.ts';
import { inTransaction } from '../database/in-transaction.ts';
import { ledgerAccounts } from '../ledger/post-transaction.ts';
import { assertSignable, type Batch, batchNusd, type CreditsDependencies, signAgain, signPaid } from './batch.ts';
import { assertEnabled, lockWithEpoch, moveToCredits, tellState } from './move-to-credits.ts';

/** The most batches that leave accounts in 24 hours: of one account, and in all. */
const batchesADay = { ofOne: 10, ofAll: 2_000 };
const dayMs = 86_400_000;

/**
 * Withdraws a batch from the account that a code names: lock, reserve in the state, book, commit, write to the state, sign. A request that
 * is repeated after any of these steps gets the same signatures. docs/decisions/anonymous-wallets.md lists the interleavings.
 */
export async function withdrawCredits(deps: CreditsDependencies, batch: Batch): Promise<Buffer[]> {
  const { pool, now } = deps;
  const known = await signAgain(deps, batch);
  if (known !== undefined) return known;
  assertSignable(deps, batch);
  const code = [hashSecret(batch.paidBy.secret), new Date(now())];
  const open = await pool.query('select from credit_codes where code_hash = $1 and expires_at > $2', code);
  if (open.rowCount === 0) return signPaid(deps, batch, noCode());
  const moved = await inTransaction(pool, async (client) => {
    const used = await client.query<{ account_id: string }>(
      'delete from credit_codes where code_hash = $1 and expires_at > $2 returning account_id',
      code,
    );
    const accountId = used.rows[0]?.account_id;
    if (accountId === undefined) return undefined;
    const locked = await lockWithEpoch(client, accountId);
    await assertWithdrawable(client, { accountId, balanceNusd: locked.account.balanceNusd, now: now() });
    return moveToCredits(deps, client, batch, {
      ...locked,
      accountId,
      nusd: batchNusd,
      count: creditsPerBatch,
      alone: false,
    });
  });
  if (moved !== undefined) await tellState(deps, moved);
  return signPaid(deps, batch, noCode());
}

const noCode = (): ServiceError =>
  new ServiceError('forbidden', { message: 'The code is unknown, used or expired. Make another on the billing page.' });

/**
 * Refuses a withdrawal beyond what crypto payments left. Credits cannot be called back, but cards can, for months, and grants are not
 * money. Charges count against crypto first: all that ever came from elsewhere stays.
 */
async function assertWithdrawable(
  client: pg.PoolClient,
  { accountId, balanceNusd, now }: { readonly accountId: string; readonly balanceNusd: bigint; readonly now: number },
): Promise<void> {
  await assertEnabled(client, accountId);
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
  if (found.disputed) throw new ServiceError('forbidden', { message: 'A payment of this account is disputed.' });
  if (found.of_one >= batchesADay.ofOne || found.of_all >= batchesADay.ofAll)
    throw new ServiceError('top_up_limit', {
      message: 'The limit of credits for 24 hours is reached. Try again later.',
    });
  if (balanceNusd - BigInt(found.other) >= batchNusd) return;
  throw new ServiceError('insufficient_balance', {
    message:
      'A batch costs 5 USD. Only money that was paid by crypto, and that no request has used, can become credits.',
  });
}
