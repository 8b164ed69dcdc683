import type pg from 'pg';

/** Something that does not add up: what, of whom, and by how much. Amounts in nano-USD. */
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
  /** Answers the rows that do not add up. */
  readonly query: string;
}

const unresolved: AuditCheck = {
  what: 'a settlement was set aside and is not resolved (see `sotto-control rejected list`)',
  query: `select id::text, 'booked' as expected, reason as found from rejected_settlements
    where resolved_at is null order by created_at`,
};

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
    what: 'the balance of an account is not the sum of its entries',
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
    what: 'what a key has spent is not the sum of its usage',
    query: `select k.id::text, coalesce(u.sum, 0)::text as expected, k.spent_nusd::text as found
      from api_keys k left join (select key_id, sum(cost_nusd) as sum from usage group by key_id) u on u.key_id = k.id
      where k.spent_nusd <> coalesce(u.sum, 0)`,
  },
  {
    what: 'usage and settlements differ in all (what is nobody’s is in suspense)',
    query: `select 'usage' as id, s.sum::text as expected, u.sum::text as found
      from (select coalesce(sum(charge_nusd), 0) as sum from settlements) s,
        (select coalesce((select sum(cost_nusd) from usage), 0)
           - coalesce((select sum(amount_nusd) from ledger_entries where ledger_account = 'suspense'), 0) as sum) u
      where s.sum <> u.sum`,
  },
  {
    what: 'the daily sums of an account are not those of its usage',
    query: `select coalesce(u.account_id, d.account_id)::text as id, coalesce(u.sum, 0)::text as expected,
        coalesce(d.sum, 0)::text as found
      from (select account_id, sum(cost_nusd) as sum from usage group by account_id) u
      full join (select account_id, sum(cost_nusd) as sum from usage_daily group by account_id) d
        on d.account_id = u.account_id
      where coalesce(u.sum, 0) <> coalesce(d.sum, 0)`,
  },
];

/** Recomputes the balances of these accounts alone. */
export async function auditBalances(pool: pg.Pool, accountIds: readonly string[]): Promise<Finding[]> {
  const { rows } = await pool.query<Row>(
    `select a.id::text, coalesce(e.sum, 0)::text as expected, a.balance_nusd::text as found
     from accounts a left join lateral (
       select sum(amount_nusd) as sum from ledger_entries where ledger_account = 'wallet:' || a.id
     ) e on true
     where a.id = any($1::uuid[]) and a.balance_nusd <> coalesce(e.sum, 0)`,
    [accountIds],
  );
  return rows.map(({ id, expected, found }) => ({
    what: 'the balance of an account is not the sum of its entries',
    id,
    expected: expected ?? 'none',
    found: found ?? 'none',
  }));
}

/** Finds the settlements that were set aside: charges that may be missing from the ledger. */
export async function auditRejected(pool: pg.Pool): Promise<Finding[]> {
  const { rows } = await pool.query<Row>(unresolved.query);
  return rows.map((row) => findingOf(unresolved, row));
}

const findingOf = ({ what }: AuditCheck, { id, expected, found }: Row): Finding => ({
  what,
  id,
  expected: expected ?? 'none',
  found: found ?? 'none',
});

/** Recomputes everything that Postgres says about money from its smallest parts, all at one instant. */
export async function auditLedger(pool: pg.Pool): Promise<Finding[]> {
  const client = await pool.connect();
  try {
    await client.query('begin isolation level repeatable read read only');
    // A ledger of years takes longer to add up than any request may take.
    await client.query('set local statement_timeout = 0');
    const findings: Finding[] = [];
    for (const check of checks) {
      const { rows } = await client.query<Row>(check.query);
      findings.push(...rows.map((row) => findingOf(check, row)));
    }
    return findings;
  } finally {
    await client.query('rollback').catch(() => {});
    client.release();
  }
}
