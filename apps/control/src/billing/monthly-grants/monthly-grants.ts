import type { Nusd } from '@sotto/money';
import { repeat } from '@sotto/server';
import { type EpochPort, monthOf, type ProjectionPort } from '@sotto/state';
import type pg from 'pg';
import { inTransaction } from '../../database/in-transaction.ts';
import type { Domain } from '../../domain.ts';
import { creditWithin, ledgerAccounts } from '../../ledger/post-transaction.ts';
import type { AccountGrantDependencies } from './account-grant.ts';
import { expireGrants, findExpiring, grantIsLeftOver } from './expire-grants.ts';
import { forgetIdentities, readIdentities, rememberIdentities } from './grant-identities.ts';

export interface MonthlyGrantsDependencies extends AccountGrantDependencies {
  readonly state: Pick<ProjectionPort, 'readWallet'> & Pick<EpochPort, 'isOpen'>;
  /** Writes an account's balance to the state. */
  readonly project: (accountId: string) => Promise<void>;
  /** Whether an address must be verified before its account gets a grant. */
  readonly needsVerified: boolean;
}

const giveMs = 2_000;
const expireMs = 6_000;
const forgetMs = 60_000;

export interface MonthlyGrants extends Domain {
  /** The grant of accounts for which an operator set none. Undefined: this deployment gives no grants. */
  readonly defaultNusd: Nusd | undefined;
  /**
   * Gives an account this month's grant, if it is due, and remembers its identities. Call it for a new account, so that it can send
   * requests at once, and whenever an address or another identity of the account has changed.
   */
  giveTo(accountId: string): Promise<void>;
}

/**
 * Gives every account its monthly grant, and expires those of past months. They also expire once grants are disabled, so that they
 * never become permanent money. Every control process runs both tasks: the accounts' locks keep them apart.
 */
export function buildMonthlyGrants(deps: MonthlyGrantsDependencies): MonthlyGrants {
  const { pool, state, project, now, monthlyGrantNusd, needsVerified } = deps;
  const termsNow = (defaultNusd: Nusd): GrantTerms => ({ month: monthOf(now()), defaultNusd, needsVerified });
  const giveTo = async (accountId: string): Promise<void> => {
    if (monthlyGrantNusd === undefined) return;
    await giveGrant(pool, accountId, termsNow(monthlyGrantNusd));
    await project(accountId);
  };
  const giveDue = async (): Promise<boolean> => {
    if (monthlyGrantNusd === undefined) return false;
    const accountIds = await findDue(pool, termsNow(monthlyGrantNusd));
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
    tasks: (failed, due) => [
      ...(monthlyGrantNusd === undefined ? [] : [repeat(giveMs, giveDue, failed('monthly grants'))]),
      due.when({ question: grantIsLeftOver, everyMs: expireMs }, expireDue, failed('expiry of grants')),
      repeat(forgetMs, () => forgetIdentities(pool, now()), failed('identities of grants')),
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

interface GrantTerms extends Pick<MonthlyGrantsDependencies, 'needsVerified'> {
  /** `YYYY-MM` in UTC. */
  readonly month: string;
  /** The amount of accounts for which an operator set none. */
  readonly defaultNusd: Nusd;
}

const batch = 200;

/** Returns some of the accounts that `giveGrant` would give something. */
export async function findDue(
  pool: pg.Pool,
  { month, defaultNusd, needsVerified }: GrantTerms,
): Promise<readonly string[]> {
  const { rows } = await pool.query<{ id: string }>(
    // In no order, so that an account that fails each time does not come before the others.
    `select a.id from accounts a left join monthly_grants g on g.account_id = a.id and g.month = $1
       left join auth_user u on u.id = a.user_id
     where a.disabled_at is null and coalesce(a.monthly_grant_nusd, $2) > coalesce(g.amount_nusd, 0)
       and (u.email_verified or u.id is null or not $3)
       and not (coalesce(g.refused, false) and a.monthly_grant_nusd is null)
     order by random() limit ${batch}`,
    [month, defaultNusd, needsVerified],
  );
  return rows.map(({ id }) => id);
}

/**
 * Gives an account its grant of a month. If the account has a smaller one of that month, because its amount was raised, it gets the
 * difference. A smaller amount counts from the next month. Disabled accounts get none. Several processes may call this at once: the
 * account's lock makes the others find the grant.
 *
 * Each identity gets one grant a month, whatever accounts it had. An account is refused if one of its identities has had it. An
 * operator's own amount for the account is given all the same, because the operator chose the account.
 */
export async function giveGrant(pool: pg.Pool, accountId: string, terms: GrantTerms): Promise<void> {
  const { month, defaultNusd, needsVerified } = terms;
  await inTransaction(pool, async (client) => {
    const { rows: accounts } = await client.query<{ amount_nusd: string; is_own: boolean; version: string }>(
      `select coalesce(monthly_grant_nusd, $2)::text as amount_nusd, monthly_grant_nusd is not null as is_own, version
       from accounts a where id = $1 and disabled_at is null for update`,
      [accountId, defaultNusd],
    );
    const [account] = accounts;
    if (account === undefined) return;
    const identities = await readIdentities(client, accountId);
    // Otherwise a stranger could use up the grant of an address by signing up with it.
    if (needsVerified && identities.address?.isVerified === false) return;
    const grant = await findGrant(client, accountId, month);
    const amountNusd = BigInt(account.amount_nusd) - (grant?.amountNusd ?? 0n);
    if (grant === undefined && amountNusd <= 0n) return;
    const isFirst = await rememberIdentities(client, month, identities);
    const isRefused = !account.is_own && (grant === undefined ? !isFirst : grant.isRefused);
    if (isRefused) {
      await client.query(
        `insert into monthly_grants (account_id, month, amount_nusd, refused) values ($1, $2, 0, true)
         on conflict (account_id, month) do nothing`,
        [accountId, month],
      );
    }
    if (isRefused || amountNusd <= 0n) return;
    const purpose = `grant:${accountId}:${month}`;
    // The version of an account rises with each of its transactions.
    const reference = grant === undefined ? purpose : `${purpose}:${account.version}`;
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

/**
 * Remembers the identities of an account that is about to be deleted, under its lock. A new account of theirs then gets no second
 * grant, nor the default instead of an amount that an operator set.
 */
export async function rememberDeleted(client: pg.PoolClient, accountId: string, month: string): Promise<void> {
  const { rowCount } = await client.query(
    `select from accounts a where id = $1 and (monthly_grant_nusd is not null
       or exists (select from monthly_grants g where g.account_id = a.id and g.month = $2))`,
    [accountId, month],
  );
  if (rowCount === 1) await rememberIdentities(client, month, await readIdentities(client, accountId));
}

async function findGrant(client: pg.PoolClient, accountId: string, month: string) {
  const { rows } = await client.query<{ amount_nusd: string; refused: boolean }>(
    'select amount_nusd, refused from monthly_grants where account_id = $1 and month = $2',
    [accountId, month],
  );
  const [row] = rows;
  return row && { amountNusd: BigInt(row.amount_nusd), isRefused: row.refused };
}
