import { creditNusd } from '@sotto/wire';
import type pg from 'pg';
import { inTransaction } from '../database/in-transaction.ts';

/** An inconsistency: what differs, the id it belongs to, and the two values. Amounts are in nano-USD. */
export interface Finding {
  readonly what: string;
  readonly id: string;
  readonly expected: string;
  readonly found: string;
}

interface Row {
  id: string;
  expected: string | null;
  found: string | null;
}

interface AuditCheck {
  readonly what: string;
  readonly query: string;
}

const unresolved: AuditCheck = {
  what: 'a settlement was set aside and is not resolved (see `sotto-control rejected list`)',
  query: `select id::text, 'booked' as expected, reason as found from rejected_settlements
    where resolved_at is null order by created_at`,
};

const stoppedCredits: AuditCheck = {
  what: 'more credits of a key were deposited than signed, so deposits have stopped: somebody else has the key',
  query: `select key_id as id, issued::text as expected, 'more' as found from credit_keys where stopped_at is not null`,
};

const balanceDiffers = 'the balance of an account is not the sum of its entries';

const summed = 'sum(requests) as requests, sum(cost_nusd) as cost';

/** Compares two queries of `id`, `requests` and `cost`. */
const comparison = (expected: string, found: string): string =>
  `select coalesce(e.id, f.id)::text as id,
     coalesce(e.cost, 0) || ' for ' || coalesce(e.requests, 0) || ' requests' as expected,
     coalesce(f.cost, 0) || ' for ' || coalesce(f.requests, 0) || ' requests' as found
   from (${expected}) e full join (${found}) f on f.id = e.id
   where (e.requests, e.cost) is distinct from (f.requests, f.cost)`;

const checks: readonly AuditCheck[] = [
  unresolved,
  {
    what: 'the entries of a transaction do not sum to zero',
    query: `select transaction_id::text as id, '0' as expected, sum(amount_nusd)::text as found
      from ledger_entries group by transaction_id having sum(amount_nusd) <> 0`,
  },
  {
    what: 'a transaction has no entries',
    query: `select t.id::text, 'entries' as expected, 'none' as found from ledger_transactions t
      where not exists (select from ledger_entries e where e.transaction_id = t.id)`,
  },
  {
    what: balanceDiffers,
    query: `select a.id::text, coalesce(e.sum, 0)::text as expected, a.balance_nusd::text as found
      from accounts a left join (
        select ledger_account, sum(amount_nusd) as sum from ledger_entries group by ledger_account
      ) e on e.ledger_account = 'wallet:' || a.id
      where a.balance_nusd <> coalesce(e.sum, 0)`,
  },
  {
    what: 'a settlement is not in the ledger with its charge',
    query: `select s.id, s.charge_nusd::text as expected, coalesce(e.sum, 0)::text as found
      from settlements s
      left join ledger_transactions t on t.reference = 'settlement:' || s.id
      left join lateral (
        select sum(amount_nusd) as sum from ledger_entries where transaction_id = t.id and ledger_account = 'revenue'
      ) e on true
      where s.charge_nusd <> coalesce(e.sum, 0)`,
  },
  {
    what: 'a charge in the ledger has no settlement',
    query: `select t.reference as id, 'a settlement' as expected, 'none' as found from ledger_transactions t
      where t.kind = 'charge' and not exists (select from settlements s where t.reference = 'settlement:' || s.id)`,
  },
  {
    what: 'what a key has spent is not the sum of its usage by day',
    query: `select k.id::text, coalesce(u.sum, 0)::text as expected, k.spent_nusd::text as found
      from api_keys k left join (select key_id, sum(cost_nusd) as sum from usage_daily_keys group by key_id) u
        on u.key_id = k.id
      where k.spent_nusd <> coalesce(u.sum, 0)`,
  },
  {
    what: 'what a key has spent is not the sum of its months',
    query: `select k.id::text, coalesce(m.sum, 0)::text as expected, k.spent_nusd::text as found
      from api_keys k left join (select key_id, sum(spent_nusd) as sum from key_months group by key_id) m on m.key_id = k.id
      where k.spent_nusd <> coalesce(m.sum, 0)`,
  },
  {
    what: 'a monthly grant is not the sum of its transactions',
    query: `select g.account_id || ' ' || g.month as id, g.amount_nusd::text as expected, coalesce(t.sum, 0)::text as found
      from monthly_grants g left join (
        select split_part(t.reference, ':', 2) as account_id, split_part(t.reference, ':', 3) as month, sum(e.amount_nusd) as sum
        from ledger_transactions t join ledger_entries e on e.transaction_id = t.id and e.ledger_account like 'wallet:%'
        where t.kind = 'grant' group by 1, 2
      ) t on t.account_id = g.account_id::text and t.month = g.month
      where g.amount_nusd <> coalesce(t.sum, 0)`,
  },
  {
    what: 'more of a monthly grant was spent and has expired than it was',
    query: `select account_id || ' ' || month as id, amount_nusd::text as expected, (spent_nusd + expired_nusd)::text as found
      from monthly_grants where spent_nusd < 0 or expired_nusd < 0 or spent_nusd + expired_nusd > amount_nusd`,
  },
  {
    what: 'the monthly grants differ from the ledger (without what has expired)',
    query: `select 'grants' as id, g.sum::text as expected, e.sum::text as found
      from (select coalesce(sum(expired_nusd - amount_nusd), 0) as sum from monthly_grants) g,
        (select coalesce(sum(amount_nusd), 0) as sum from ledger_entries where ledger_account = 'grants') e
      where g.sum <> e.sum`,
  },
  {
    what: 'usage and settlements differ in all (what is nobody’s is in suspense)',
    query: `select 'usage' as id, s.sum::text as expected, u.sum::text as found
      from (select coalesce(sum(charge_nusd), 0) as sum from settlements) s,
        (select coalesce((select sum(cost_nusd) from usage_daily_keys), 0)
           - coalesce((select sum(amount_nusd) from ledger_entries where ledger_account = 'suspense'), 0) as sum) u
      where s.sum <> u.sum`,
  },
  ...['usage_daily_keys', 'usage_daily_routes'].map((table) => ({
    what: `the daily sums of an account differ between usage_daily and ${table}`,
    query: comparison(
      `select account_id as id, ${summed} from usage_daily group by account_id`,
      `select account_id as id, ${summed} from ${table} group by account_id`,
    ),
  })),
  stoppedCredits,
  {
    what: 'the outstanding credits of a key are not what the ledger owes for them',
    query: `select coalesce(k.key_id, e.key_id) as id, ((k.issued - k.spent) * ${creditNusd})::text as expected, e.sum::text as found
      from credit_keys k full join (
        select substr(ledger_account, 9) as key_id, sum(amount_nusd) as sum from ledger_entries
        where ledger_account like 'credits:%' group by 1
      ) e on e.key_id = k.key_id
      where coalesce((k.issued - k.spent) * ${creditNusd}, 0) <> coalesce(e.sum, 0)`,
  },
  {
    what: 'the counts of a key of credits are not those of its batches and deposited credits',
    query: `select k.key_id as id, coalesce(i.count, 0) || ' and ' || coalesce(s.count, 0) as expected,
        k.issued || ' and ' || k.spent as found
      from credit_keys k
      left join (select key_id, sum(count) as count from credit_issuances group by key_id) i on i.key_id = k.key_id
      left join (select key_id, count(*) as count from spent_credits group by key_id) s on s.key_id = k.key_id
      where k.issued <> coalesce(i.count, 0) or k.spent <> coalesce(s.count, 0)`,
  },
  {
    what: 'a closed wallet was rounded by a credit or more',
    query: `select transaction_id::text as id, 'below ${creditNusd}' as expected, amount_nusd::text as found
      from ledger_entries where ledger_account = 'rounding' and abs(amount_nusd) >= ${creditNusd}`,
  },
  {
    // The rows of dropped months live on in the daily sums alone.
    what: 'the daily sums of a key are not those of its usage',
    query: comparison(
      `select key_id as id, count(*) as requests, sum(cost_nusd) as cost from usage
       where at >= coalesce((select usage_kept_from from deployment), '-infinity') group by key_id`,
      `select key_id as id, ${summed} from usage_daily
       where day >= coalesce((select (usage_kept_from at time zone 'UTC')::date from deployment), '-infinity')
       group by key_id`,
    ),
  },
];

async function findingsOf(
  client: pg.Pool | pg.PoolClient,
  { what, query }: AuditCheck,
  values?: unknown[],
): Promise<Finding[]> {
  const { rows } = await client.query<Row>(query, values);
  return rows.map(({ id, expected, found }) => ({ what, id, expected: expected ?? 'none', found: found ?? 'none' }));
}

/** Recomputes the balances of only these accounts. */
export async function auditBalances(pool: pg.Pool, accountIds: readonly string[]): Promise<Finding[]> {
  const query = `select a.id::text, coalesce(e.sum, 0)::text as expected, a.balance_nusd::text as found
     from accounts a left join lateral (
       select sum(amount_nusd) as sum from ledger_entries where ledger_account = 'wallet:' || a.id
     ) e on true
     where a.id = any($1::uuid[]) and a.balance_nusd <> coalesce(e.sum, 0)`;
  return findingsOf(pool, { what: balanceDiffers, query }, [accountIds]);
}

/** Finds what a person must look at: settlements that were set aside, and issuer keys whose deposits have stopped. */
export async function auditRejected(pool: pg.Pool): Promise<Finding[]> {
  return [...(await findingsOf(pool, unresolved)), ...(await findingsOf(pool, stoppedCredits))];
}

/** Recomputes every amount in Postgres from its smallest parts, in one snapshot. */
export async function auditLedger(pool: pg.Pool): Promise<Finding[]> {
  const work = async (client: pg.PoolClient): Promise<Finding[]> => {
    // Adding up a ledger of several years takes longer than the timeout of requests.
    await client.query('set local statement_timeout = 0');
    // Before the snapshot, so that no month is dropped that the snapshot says is kept.
    await client.query('lock table usage in access share mode');
    const findings: Finding[] = [];
    for (const check of checks) findings.push(...(await findingsOf(client, check)));
    return findings;
  };
  return inTransaction(pool, work, 'isolation level repeatable read read only');
}
