import { leftOfGrant, type MonthlyGrant, type Nusd } from '@sotto/money';
import { monthOf, type ProjectionPort, shardOfWallet } from '@sotto/state';
import type pg from 'pg';
import type { monthlyGrants } from '../../database/billing-schema.ts';
import type { SqlRow } from '../../database/columns.ts';
import { inTransaction } from '../../database/in-transaction.ts';
import { grantOf, writeGrants } from '../../ledger/grants-of-accounts.ts';
import { type CreditedBalance, debitWithin, ledgerAccounts, lockAccount } from '../../ledger/post-transaction.ts';

export interface ExpiryDependencies {
  readonly pool: pg.Pool;
  readonly state: Pick<ProjectionPort, 'readWallet'>;
}

const batch = 200;
/** The time in which requests that began in the past month end and are booked. */
const turnMs = 3_600_000;

const isLeftOver = 'amount_nusd > spent_nusd + expired_nusd';

/** SQL condition: something is left of a grant of a past month. `DueWork` asks it. */
export const grantIsLeftOver = `exists (
  select from monthly_grants where month < to_char($1 at time zone 'utc', 'YYYY-MM') and ${isLeftOver})`;

/** Returns some of the accounts with something left of a grant of a month before this one. */
export async function findExpiring(pool: pg.Pool, month: string): Promise<readonly string[]> {
  const { rows } = await pool.query<{ account_id: string }>(
    `select account_id from (
       select distinct account_id from monthly_grants where month < $1 and ${isLeftOver}
     ) left_over order by random() limit ${batch}`,
    [month],
  );
  return rows.map(({ account_id }) => account_id);
}

/**
 * Expires the rest of an account's grants of past months. Spares the money that running requests hold and that unbooked charges
 * need: call it again later for that. In the first hour of a month, this money counts as the past month's. Later it counts as any,
 * so that the grants of an account that is never idle expire, too. Requests are admitted meanwhile. `bookSettlements` explains how
 * their charges are paid. Returns whether the balance changed.
 */
export async function expireGrants(
  { pool, state }: ExpiryDependencies,
  accountId: string,
  now: number,
): Promise<boolean> {
  const month = monthOf(now);
  const isTurn = now - Date.parse(`${month}-01T00:00:00Z`) < turnMs;
  return inTransaction(pool, async (client) => {
    const account = await lockAccount(client, accountId);
    if (account === undefined) return false;
    // Read after the lock: no charge is booked from here on, so each is missing in the balance or unbooked in the state, or both.
    const wallet = await state.readWallet(shardOfWallet(account.walletId), account.walletId);
    if (wallet === undefined) return false;
    const spareOf = (past: readonly MonthlyGrant[]): Nusd =>
      (isTurn ? sumOf(past) : account.balanceNusd) - wallet.heldNusd - wallet.unbookedNusd;
    return (await expireWithin(client, accountId, { account, isPast: (grant) => grant.month < month, spareOf })) > 0n;
  });
}

/**
 * Expires grants of a locked account, from the oldest, as far as the spare money reaches. Returns how much expired.
 */
export async function expireWithin(
  client: pg.PoolClient,
  accountId: string,
  {
    account,
    isPast,
    spareOf,
  }: {
    readonly account: CreditedBalance;
    readonly isPast: (grant: MonthlyGrant) => boolean;
    readonly spareOf: (past: readonly MonthlyGrant[]) => Nusd;
  },
): Promise<Nusd> {
  const { rows: left } = await client.query<SqlRow<typeof monthlyGrants>>(
    `select account_id, month, amount_nusd, spent_nusd, expired_nusd from monthly_grants
     where account_id = $1 and amount_nusd > spent_nusd + expired_nusd order by month`,
    [accountId],
  );
  const grants = left.map(grantOf);
  const past = grants.filter(isPast);
  let spareNusd = spareOf(past);
  // A refund of an order takes its money from the whole balance.
  let goneNusd = sumOf(grants) - account.balanceNusd;
  let { version } = account;
  let allNusd = 0n;
  for (const grant of past) {
    const lostNusd = within(goneNusd, leftOfGrant(grant));
    const expiredNusd = within(spareNusd, leftOfGrant(grant) - lostNusd);
    goneNusd -= lostNusd;
    spareNusd -= expiredNusd;
    if (expiredNusd > 0n) {
      const reference = `grant_expired:${accountId}:${grant.month}:${version}`;
      const debit = { accountId, amountNusd: expiredNusd, kind: 'grant_expired', reference } as const;
      await debitWithin(client, { ...debit, to: ledgerAccounts.grants });
      version += 1;
      allNusd += expiredNusd;
    }
    const next = { spentNusd: grant.spentNusd + lostNusd, expiredNusd: grant.expiredNusd + expiredNusd };
    await writeGrants(client, [{ accountId, ...grant, ...next }]);
  }
  return allNusd;
}

const sumOf = (grants: readonly MonthlyGrant[]): Nusd => grants.reduce((sum, grant) => sum + leftOfGrant(grant), 0n);

/** An amount from 0 to `most`. */
const within = (nusd: Nusd, most: Nusd): Nusd => (nusd <= 0n ? 0n : nusd < most ? nusd : most);
