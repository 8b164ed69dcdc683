import type { Nusd } from '@sotto/money';
import { repeat } from '@sotto/server';
import { type EpochPort, monthOf, type ProjectionPort } from '@sotto/state';
import type pg from 'pg';
import { inTransaction } from '../../database/in-transaction.ts';
import type { Domain } from '../../domain.ts';
import { creditWithin, ledgerAccounts } from '../../ledger/post-transaction.ts';
import type { AccountGrantDependencies } from './account-grant.ts';
import { expireGrants, findExpiring } from './expire-grants.ts';

export interface MonthlyGrantsDependencies extends AccountGrantDependencies {
  readonly state: Pick<ProjectionPort, 'readWallet'> & Pick<EpochPort, 'isOpen'>;
  /** Writes an account's balance to the state. */
  readonly project: (accountId: string) => Promise<void>;
}

const giveMs = 2_000;
const expireMs = 5_000;

export interface MonthlyGrants extends Domain {
  /** The grant of accounts for which an operator set none. Undefined: this deployment gives no grants. */
  readonly defaultNusd: Nusd | undefined;
  /** Gives an account this month's grant, if it is due. A new account can then send requests at once. */
  giveTo(accountId: string): Promise<void>;
}

/**
 * Gives every account its monthly grant, and expires those of past months. They also expire once grants are disabled, so that they
 * never become permanent money. Every control process runs both tasks: the accounts' locks keep them apart.
 */
export function buildMonthlyGrants(deps: MonthlyGrantsDependencies): MonthlyGrants {
  const { pool, state, project, now, monthlyGrantNusd } = deps;
  const giveTo = async (accountId: string): Promise<void> => {
    if (monthlyGrantNusd === undefined) return;
    await giveGrant(pool, accountId, { month: monthOf(now()), defaultNusd: monthlyGrantNusd });
    await project(accountId);
  };
  const giveDue = async (): Promise<boolean> => {
    if (monthlyGrantNusd === undefined) return false;
    const accountIds = await findDue(pool, { month: monthOf(now()), defaultNusd: monthlyGrantNusd });
    return forEachAccount(accountIds, giveTo);
  };
  const expireDue = async (): Promise<boolean> => {
    // A shard that is being rebuilt does not know all holds.
    if (!(await state.isOpen())) return false;
    let isChanged = false;
    await forEachAccount(await findExpiring(pool, monthOf(now())), async (accountId) => {
      if (!(await expireGrants({ pool, state }, accountId, now()))) return;
      isChanged = true;
      // At once, because the state admits requests on the higher balance until then.
      await project(accountId);
    });
    return isChanged;
  };
  return {
    defaultNusd: monthlyGrantNusd,
    giveTo,
    tasks: (failed) => [
      ...(monthlyGrantNusd === undefined ? [] : [repeat(giveMs, giveDue, failed('monthly grants'))]),
      repeat(expireMs, expireDue, failed('expiry of grants')),
    ],
  };
}

/** Acts on each account, even if it fails for others. Resolves to whether there was any; throws the first failure. */
async function forEachAccount(
  accountIds: readonly string[],
  act: (accountId: string) => Promise<void>,
): Promise<boolean> {
  const failures: unknown[] = [];
  for (const accountId of accountIds) await act(accountId).catch((error: unknown) => failures.push(error));
  if (failures.length > 0) throw failures[0];
  return accountIds.length > 0;
}

/** A month, `YYYY-MM` in UTC, and the amount of accounts for which an operator set none. */
interface GrantTerms {
  readonly month: string;
  readonly defaultNusd: Nusd;
}

const batch = 200;

/** Returns some of the accounts that `giveGrant` would give something. */
export async function findDue(pool: pg.Pool, { month, defaultNusd }: GrantTerms): Promise<readonly string[]> {
  const { rows } = await pool.query<{ id: string }>(
    // In no order, so that an account that fails each time does not come before the others.
    `select a.id from accounts a left join monthly_grants g on g.account_id = a.id and g.month = $1
     where a.disabled_at is null and coalesce(a.monthly_grant_nusd, $2) > coalesce(g.amount_nusd, 0)
     order by random() limit ${batch}`,
    [month, defaultNusd],
  );
  return rows.map(({ id }) => id);
}

/**
 * Gives an account its grant of a month. If the account has a smaller one of that month, because its amount was raised, it gets the
 * difference. A smaller amount counts from the next month. Disabled accounts get none. Several processes may call this at once: the
 * account's lock makes the others find the grant.
 */
export async function giveGrant(pool: pg.Pool, accountId: string, { month, defaultNusd }: GrantTerms): Promise<void> {
  await inTransaction(pool, async (client) => {
    const { rows: accounts } = await client.query<{ amount_nusd: string; version: string }>(
      `select coalesce(monthly_grant_nusd, $2)::text as amount_nusd, version from accounts
       where id = $1 and disabled_at is null for update`,
      [accountId, defaultNusd],
    );
    const [account] = accounts;
    if (account === undefined) return;
    const { rows: grants } = await client.query<{ amount_nusd: string }>(
      'select amount_nusd from monthly_grants where account_id = $1 and month = $2',
      [accountId, month],
    );
    const amountNusd = BigInt(account.amount_nusd) - BigInt(grants[0]?.amount_nusd ?? 0);
    if (amountNusd <= 0n) return;
    const purpose = `grant:${accountId}:${month}`;
    // The version of an account rises with each of its transactions.
    const reference = grants.length === 0 ? purpose : `${purpose}:${account.version}`;
    await creditWithin(client, { accountId, amountNusd, kind: 'grant', reference, from: ledgerAccounts.grants });
    await client.query(
      `insert into monthly_grants (account_id, month, amount_nusd) values ($1, $2, $3)
       on conflict (account_id, month) do update set amount_nusd = monthly_grants.amount_nusd + excluded.amount_nusd`,
      [accountId, month, amountNusd],
    );
    await client.query('update accounts set granted_month = greatest(granted_month, $2) where id = $1', [
      accountId,
      month,
    ]);
  });
}
