import type { MonthlyGrantAnswer } from '@sotto/contract/control/billing';
import { type Nusd, nusdToUsd } from '@sotto/money';
import { monthAfter, monthOf } from '@sotto/state';
import type pg from 'pg';
import { type Actor, recordAct } from '../../audit-log/record-act.ts';
import { inTransaction } from '../../database/in-transaction.ts';

export interface AccountGrantDependencies {
  readonly pool: pg.Pool;
  /** Undefined: this deployment gives no grants. */
  readonly monthlyGrantNusd: Nusd | undefined;
  readonly now: () => number;
}

export async function readMonthlyGrant(deps: AccountGrantDependencies, accountId: string): Promise<MonthlyGrantAnswer> {
  return (await readGrant(deps, accountId)).answer;
}

async function readGrant(
  { pool, monthlyGrantNusd, now }: AccountGrantDependencies,
  accountId: string,
): Promise<{ readonly answer: MonthlyGrantAnswer; readonly isRefused: boolean }> {
  const month = monthOf(now());
  const { rows } = await pool.query<{
    own_nusd: string | null;
    amount_nusd: string;
    spent_nusd: string;
    refused: boolean;
  }>(
    `select a.monthly_grant_nusd as own_nusd, coalesce(g.amount_nusd, 0) as amount_nusd,
       coalesce(g.spent_nusd, 0) as spent_nusd, coalesce(g.refused and g.amount_nusd = 0, false) as refused
     from accounts a left join monthly_grants g on g.account_id = a.id and g.month = $2 where a.id = $1`,
    [accountId, month],
  );
  const [row] = rows;
  const next = monthlyGrantNusd === undefined ? 0n : BigInt(row?.own_nusd ?? monthlyGrantNusd);
  const answer: MonthlyGrantAnswer = {
    currency: 'USD',
    month,
    amount: nusdToUsd(BigInt(row?.amount_nusd ?? 0)),
    spent: nusdToUsd(BigInt(row?.spent_nusd ?? 0)),
    next_amount: nusdToUsd(next),
    renews_at: `${monthAfter(month)}-01T00:00:00.000Z`,
  };
  return { answer, isRefused: row?.refused ?? false };
}

/** Returns a sentence about how an account without balance gets more. */
export async function adviseOnEmpty(deps: AccountGrantDependencies, accountId: string): Promise<string> {
  if (deps.monthlyGrantNusd === undefined) return 'Top up to continue.';
  const { answer, isRefused } = await readGrant(deps, accountId);
  const { next_amount: next, renews_at: at } = answer;
  if (next === 0) return 'Ask the operator of this service for more.';
  const why = isRefused ? 'Another account with your address or sign-in had the grant of this month. ' : '';
  return `${why}The monthly grant renews on ${at.slice(0, 10)} 00:00 UTC. Ask the operator of this service for more.`;
}

/**
 * Sets the monthly grant of an account. Undefined: it gets the deployment's. Returns whether the account exists. A task gives the
 * account what a higher amount adds to this month.
 */
export async function setMonthlyGrant(
  pool: pg.Pool,
  {
    accountId,
    amountNusd,
    actor,
  }: { readonly accountId: string; readonly amountNusd: Nusd | undefined; readonly actor: Actor },
): Promise<boolean> {
  return inTransaction(pool, async (client) => {
    const { rowCount } = await client.query('update accounts set monthly_grant_nusd = $2 where id = $1', [
      accountId,
      amountNusd ?? null,
    ]);
    if (rowCount === 0) return false;
    const details = { amount_usd: amountNusd === undefined ? null : nusdToUsd(amountNusd) };
    await recordAct(client, { actor, act: 'account_grant_set', accountId, details });
    return true;
  });
}
