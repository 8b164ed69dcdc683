import type { AccountAnswer, AccountPage, AccountQuery } from '@sotto/contract/control/operator';
import { type Nusd, nusdToUsd } from '@sotto/money';
import { monthOf } from '@sotto/state';
import type pg from 'pg';
import { type Actor, recordAct } from '../audit-log/record-act.ts';
import { inTransaction } from '../database/in-transaction.ts';
import { isUuid } from '../database/is-uuid.ts';
import { type Refused, refused } from '../database/refused.ts';
import { creditWithin, ledgerAccounts } from '../ledger/post-transaction.ts';
import { changeKeys } from '../projection/project-keys.ts';
import { pageOf, readCursor } from '../serve/page-cursor.ts';

interface Row {
  id: string;
  email: string | null;
  name: string | null;
  disabled_at: Date | null;
  deleted_at: Date | null;
  is_operator: boolean;
  balance_nusd: string;
  monthly_grant_nusd: string | null;
  spent_nusd: string;
  used_nusd: string;
  last_used_on: string | null;
  created_at: Date;
}

/**
 * Reads the accounts of a condition on `a` and `u`, newest first. `$1` is the first day of the month. Nothing that is
 * read shows a request, a model or a key. Sums usage only for the accounts of the page.
 */
const accountsWhere = (condition: string): string =>
  `select p.*, coalesce(paid.spent, 0)::text as spent_nusd, coalesce(own.used, 0)::text as used_nusd,
     own.last_day::text as last_used_on
   from (
     select a.id, u.email, u.name, a.disabled_at, a.deleted_at, o.user_id is not null as is_operator, a.balance_nusd, a.monthly_grant_nusd,
       date_trunc('milliseconds', a.created_at) as created_at
     from accounts a left join auth_user u on u.id = a.user_id left join operators o on o.user_id = a.user_id
     where ${condition}
   ) p
   left join lateral (
     select sum(cost_nusd) as spent from usage_daily_routes where account_id = p.id and day >= $1::date
   ) paid on true
   left join lateral (
     select sum(month.used) as used, max(last.day) as last_day
     from api_keys k
       left join lateral (select sum(cost_nusd) as used from usage_daily_keys r
         where r.account_id = k.account_id and r.key_id = k.id and r.day >= $1::date) month on true
       left join lateral (select max(day) as day from usage_daily_keys r
         where r.account_id = k.account_id and r.key_id = k.id) last on true
     where k.created_by = p.id
   ) own on true
   order by p.created_at desc, p.id desc`;

export interface AccountReading {
  readonly now: () => number;
  /** The monthly grant of accounts for which none was set. Undefined: this deployment gives no grants. */
  readonly defaultGrantNusd: Nusd | undefined;
}

/** Returns a page of accounts, newest first. The accounts of anonymous wallets are not among them, unless one is asked for by its id. */
export async function listAccounts(
  pool: pg.Pool,
  { search, cursor, limit }: AccountQuery,
  reading: AccountReading,
): Promise<AccountPage> {
  const after = readCursor(cursor);
  const { rows } = await pool.query<Row>(
    accountsWhere(`($2::text is null or position($2 in u.email) > 0 or a.id = $3::uuid)
       and (a.id = $3::uuid or not exists (select from wallets w where w.account_id = a.id))
       and ($4::timestamptz is null or (date_trunc('milliseconds', a.created_at), a.id) < ($4::timestamptz, $5::uuid))
     order by date_trunc('milliseconds', a.created_at) desc, a.id desc limit $6`),
    [
      `${monthOf(reading.now())}-01`,
      search?.toLowerCase() ?? null,
      search !== undefined && isUuid(search) ? search : null,
      after?.at ?? null,
      after?.id ?? null,
      limit + 1,
    ],
  );
  return pageOf(rows, limit, {
    endOf: (row) => ({ at: row.created_at, id: row.id }),
    toAnswer: (row) => toAnswer(row, reading),
  });
}

/** Returns an account, or undefined if it does not exist. */
export async function findAccount(
  client: pg.Pool | pg.PoolClient,
  accountId: string,
  reading: AccountReading,
): Promise<AccountAnswer | undefined> {
  const { rows } = await client.query<Row>(accountsWhere('a.id = $2'), [`${monthOf(reading.now())}-01`, accountId]);
  return rows[0] && toAnswer(rows[0], reading);
}

export interface AccountCredit {
  readonly accountId: string;
  readonly amountNusd: Nusd;
  /** Unique among the credits of operators. */
  readonly reference: string;
  readonly actor: Actor;
}

/** `repeated`: the reference credited the same amount to the account before. `used`: it credited something else. */
export interface CreditOutcome {
  readonly balanceNusd: Nusd;
  readonly outcome: 'credited' | 'repeated' | 'used';
}

/** Why an operator cannot change an account. `deleted`: its owner deleted it. */
export type NoAccount = { readonly why: 'no_account' } | { readonly why: 'deleted' };

/**
 * Credits an account. A reference that was booked before changes nothing. `too_much`: the balance would leave the range that
 * the ledger holds.
 */
export async function creditAsOperator(
  pool: pg.Pool,
  { accountId, amountNusd, reference: given, actor }: AccountCredit,
): Promise<CreditOutcome | Refused<NoAccount | { readonly why: 'too_much' }>> {
  // The command line and the API share one prefix, so that neither credits an invoice that the other did.
  const reference = `cli:${given}`;
  return inTransaction(pool, async (client) => {
    const { rows } = await client.query<Pick<Row, 'deleted_at'> & { version: string }>(
      'select version, deleted_at from accounts where id = $1 for update',
      [accountId],
    );
    const [before] = rows;
    if (before && before.deleted_at !== null) return refused('deleted');
    const credit = { accountId, amountNusd, kind: 'adjustment', reference, from: ledgerAccounts.funding } as const;
    const credited = await creditWithin(client, credit).catch((error: unknown) => {
      if (error instanceof RangeError) return 'too_much' as const;
      throw error;
    });
    if (credited === 'too_much') return refused('too_much');
    if (credited === undefined) return refused('no_account');
    if (before?.version === String(credited.version)) {
      const same = await client.query(
        `select 1 from ledger_transactions t join ledger_entries e on e.transaction_id = t.id
         where t.reference = $1 and e.ledger_account = $2 and e.amount_nusd = $3`,
        [reference, ledgerAccounts.wallet(accountId), amountNusd],
      );
      return { balanceNusd: credited.balanceNusd, outcome: same.rowCount === 1 ? 'repeated' : 'used' };
    }
    const details = { amount_usd: nusdToUsd(amountNusd) };
    await recordAct(client, { actor, act: 'account_credited', accountId, details });
    return { balanceNusd: credited.balanceNusd, outcome: 'credited' };
  });
}

/**
 * SQL: whether the key `k` stops while the account `$1` is disabled. The account pays for it or its person created it. Or it belongs to a
 * grant that another person gave to an app of the account: `isActiveGrant` ends its access tokens, and a new generation its tickets.
 */
export const stopsWithAccount = `k.id in (select id from api_keys where account_id = $1 or created_by = $1 union all
  select g.key_id from connect_apps p join connect_grants g on g.app_id = p.id where p.account_id = $1)`;

/**
 * Disables an account: its sessions end, and its keys, those that its person created elsewhere and those of its apps stop. Money and keys
 * stay. Returns the ids of the keys, for the projector.
 */
export const disableAccount = (
  pool: pg.Pool,
  { accountId, actor }: { readonly accountId: string; readonly actor: Actor },
): Promise<readonly string[] | Refused<NoAccount>> => setDisabled(pool, { accountId, actor, isDisabled: true });

/** Enables an account again. The keys that stopped with it work again. */
export const enableAccount = (
  pool: pg.Pool,
  { accountId, actor }: { readonly accountId: string; readonly actor: Actor },
): Promise<readonly string[] | Refused<NoAccount>> => setDisabled(pool, { accountId, actor, isDisabled: false });

interface Disabling {
  readonly accountId: string;
  readonly actor: Actor;
  readonly isDisabled: boolean;
}

const setDisabled = (pool: pg.Pool, disabling: Disabling): Promise<readonly string[] | Refused<NoAccount>> =>
  inTransaction(pool, (client) => setDisabledWithin(client, disabling));

/** Does the same in the caller's transaction. The identity provider enables only what it has disabled. */
export async function setDisabledWithin(
  client: pg.PoolClient,
  { accountId, actor, isDisabled }: Disabling,
): Promise<readonly string[] | Refused<NoAccount>> {
  const { rows: found } = await client.query<
    Pick<Row, 'disabled_at' | 'deleted_at'> & { user_id: string | null; disabled_by_provider: boolean }
  >('select disabled_at, deleted_at, user_id, disabled_by_provider from accounts where id = $1 for update', [
    accountId,
  ]);
  const [account] = found;
  if (account === undefined) return refused('no_account');
  if (account.deleted_at !== null) return refused('deleted');
  const isProvider = actor.kind === 'identity_provider';
  if ((account.disabled_at !== null) === isDisabled) {
    // What an operator disables, too, stays disabled when the person comes back to the provider.
    if (!isProvider && account.disabled_by_provider)
      await client.query('update accounts set disabled_by_provider = false where id = $1', [accountId]);
    return [];
  }
  if (isProvider && !isDisabled && !account.disabled_by_provider) return [];
  await client.query(
    'update accounts set disabled_at = case when $2 then now() end, disabled_by_provider = $3 where id = $1',
    [accountId, isDisabled, isDisabled && isProvider],
  );
  if (isDisabled) {
    // A session or a way to sign in that is stored meanwhile refers to this row, so it waits, and then finds the account disabled. Without this lock,
    // its look could come between the deletion and the commit.
    await client.query('select from auth_user where id = $1 for update', [account.user_id]);
    await client.query('delete from auth_session where user_id = $1', [account.user_id]);
  }
  await recordAct(client, { actor, act: isDisabled ? 'account_disabled' : 'account_enabled', accountId });
  return changeKeys(client, {
    where: `${stopsWithAccount} and k.revoked_at is null`,
    values: [accountId],
    revokes: false,
  });
}

const toAnswer = (row: Row, { defaultGrantNusd }: AccountReading): AccountAnswer => ({
  id: row.id,
  email: row.email,
  name: row.name,
  state: row.deleted_at !== null ? 'deleted' : row.disabled_at !== null ? 'disabled' : 'active',
  is_operator: row.is_operator,
  // A deletion forfeits the rest. The ledger books that when the last request has ended, and nothing can spend it before.
  balance_usd: Math.min(nusdToUsd(BigInt(row.balance_nusd)), row.deleted_at === null ? Number.POSITIVE_INFINITY : 0),
  monthly_grant:
    defaultGrantNusd === undefined
      ? null
      : {
          amount_usd: nusdToUsd(BigInt(row.monthly_grant_nusd ?? defaultGrantNusd)),
          is_default: row.monthly_grant_nusd === null,
        },
  spent_this_month_usd: nusdToUsd(BigInt(row.spent_nusd)),
  used_this_month_usd: nusdToUsd(BigInt(row.used_nusd)),
  last_used_on: row.last_used_on,
  created_at: row.created_at.toISOString(),
});
