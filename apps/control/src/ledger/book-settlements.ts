import { randomUUID } from 'node:crypto';
import type { Nusd } from '@sotto/money';
import type pg from 'pg';
import { recordable, recordUsage, type UsedSettlement } from '../usage/record-usage.ts';
import type { AttributedSettlement } from './attributed-settlement.ts';
import { ledgerAccounts } from './post-transaction.ts';
import { waiveCharges } from './waive-charges.ts';

/** What the state must be told of a wallet after booking. */
export interface BookedWallet {
  readonly walletId: string;
  readonly balanceNusd: Nusd;
  readonly version: number;
  readonly keys: readonly {
    readonly keyHash: string;
    readonly limitFundsNusd: Nusd | undefined;
    readonly version: number;
  }[];
  /** Every hold of the batch, booked now or before: its note may go. */
  readonly holdIds: readonly string[];
}

export interface BookingResult {
  readonly wallets: readonly BookedWallet[];
  /** Holds of charges that went to suspense, now or before: their notes stand with wallets that nobody could name. */
  readonly unattributedHoldIds: readonly string[];
  readonly booked: number;
  readonly shortfallNusd: Nusd;
  /** Charges of requests that their clients gave up, which the operator bears. */
  readonly waivedNusd: Nusd;
}

interface AccountRow {
  id: string;
  wallet_id: string;
  balance_nusd: string;
  version: string;
}

/**
 * Books settlements in one Postgres transaction: each at most once, by its id; charges as double entries; usage rows
 * and their daily sums beside them. A settlement seen before changes nothing. A charge beyond its wallet goes to the
 * operator's shortfall, one that nobody can be named for to suspense: nothing is dropped, and nothing blocks.
 *
 * The interleaving that matters: two settlers, or one that died after commit and before telling the state, book the
 * same entry. `insert ... on conflict do nothing` lets one of them win and makes the other wait for its commit.
 */
export async function bookSettlements(pool: pg.Pool, batch: readonly AttributedSettlement[]): Promise<BookingResult> {
  const client = await pool.connect();
  try {
    await client.query('begin');
    const result = await bookWithin(client, batch);
    await client.query('commit');
    return result;
  } catch (error) {
    await client.query('rollback').catch(() => {});
    throw error;
  } finally {
    client.release();
  }
}

async function bookWithin(client: pg.PoolClient, claimed: readonly AttributedSettlement[]): Promise<BookingResult> {
  const accountIds = [...new Set(claimed.flatMap(({ owner }) => owner?.accountId ?? []))];
  // In one order, so that two bookings never wait for each other in a circle.
  const locked = await client.query<AccountRow>(
    'select id, wallet_id, balance_nusd, version from accounts where id = any($1::uuid[]) order by id for update',
    [accountIds],
  );
  const accounts = new Map(
    locked.rows.map((row) => [
      row.id,
      { walletId: row.wallet_id, balance: BigInt(row.balance_nusd), version: Number(row.version), charged: false },
    ]),
  );
  const recorded = claimed.map((entry) => ({ ...entry, settlement: recordable(entry.settlement) }));
  const { batch, waivedNusd } = await waiveCharges(client, recorded);
  const inserted = await client.query<{ id: string }>(
    `insert into settlements (id, charge_nusd) select * from unnest($1::text[], $2::bigint[])
     on conflict (id) do nothing returning id`,
    [batch.map(({ settlement }) => settlement.id), batch.map(({ settlement }) => settlement.chargeNusd)],
  );
  const fresh = new Set(inserted.rows.map((row) => row.id));
  const entries: { transactionId: string; account: string; amount: Nusd }[] = [];
  const transactions: { id: string; reference: string }[] = [];
  const spent = new Map<string, Nusd>();
  const used: UsedSettlement[] = [];
  let shortfallNusd = 0n;

  for (const { settlement, owner } of batch) {
    // `delete` also keeps a settlement that stands twice in one batch from being booked twice.
    if (!fresh.delete(settlement.id)) continue;
    const account = owner === undefined ? undefined : accounts.get(owner.accountId);
    if (owner !== undefined && account !== undefined) used.push({ ...settlement, ...owner });
    const charge = BigInt(settlement.chargeNusd);
    if (charge === 0n) continue;
    const id = randomUUID();
    transactions.push({ id, reference: `settlement:${settlement.id}` });
    entries.push({ transactionId: id, account: ledgerAccounts.revenue, amount: charge });
    if (owner === undefined || account === undefined) {
      entries.push({ transactionId: id, account: ledgerAccounts.suspense, amount: -charge });
      continue;
    }
    const paid = charge < account.balance ? charge : account.balance;
    account.balance -= paid;
    account.charged = true;
    if (paid > 0n) entries.push({ transactionId: id, account: ledgerAccounts.wallet(owner.accountId), amount: -paid });
    if (charge > paid) {
      shortfallNusd += charge - paid;
      entries.push({ transactionId: id, account: ledgerAccounts.shortfall, amount: paid - charge });
    }
    spent.set(owner.keyId, (spent.get(owner.keyId) ?? 0n) + charge);
  }

  await client.query(
    "insert into ledger_transactions (id, kind, reference) select id, 'charge', reference from unnest($1::uuid[], $2::text[]) as t (id, reference)",
    [transactions.map(({ id }) => id), transactions.map(({ reference }) => reference)],
  );
  await client.query(
    'insert into ledger_entries (transaction_id, ledger_account, amount_nusd) select * from unnest($1::uuid[], $2::text[], $3::bigint[])',
    [
      entries.map(({ transactionId }) => transactionId),
      entries.map(({ account }) => account),
      entries.map(({ amount }) => amount),
    ],
  );
  const changed = [...accounts].filter(([, account]) => account.charged);
  await client.query(
    // The state is told by the settler itself, after the commit and again after a crash; the projector need not.
    `update accounts set balance_nusd = t.balance, version = accounts.version + 1,
       projected_version = case when accounts.projected_version = accounts.version then accounts.version + 1
         else accounts.projected_version end
     from unnest($1::uuid[], $2::bigint[]) as t (id, balance) where accounts.id = t.id`,
    [changed.map(([id]) => id), changed.map(([, { balance }]) => balance)],
  );
  await recordUsage(client, used);
  const keys = await updateKeys(client, used, spent, batch);

  return {
    booked: used.length,
    shortfallNusd,
    waivedNusd,
    unattributedHoldIds: batch
      .filter(({ settlement, owner }) => settlement.kind === 'charge' && !accounts.has(owner?.accountId ?? ''))
      .map(({ settlement }) => settlement.id),
    wallets: [...accounts].map(([accountId, { walletId, balance, version, charged }]) => ({
      walletId,
      balanceNusd: balance,
      version: charged ? version + 1 : version,
      keys: keys.filter((key) => key.accountId === accountId),
      holdIds: batch
        .filter(({ settlement, owner }) => settlement.kind === 'charge' && owner?.accountId === accountId)
        .map(({ settlement }) => settlement.id),
    })),
  };
}

interface KeyRow {
  account_id: string;
  hash: string;
  credit_limit_nusd: string | null;
  spent_nusd: string;
  funds_version: string;
}

/** Adds what the keys spent and when they were used; answers every key of the batch as it stands now. */
async function updateKeys(
  client: pg.PoolClient,
  used: readonly UsedSettlement[],
  spent: ReadonlyMap<string, Nusd>,
  batch: readonly AttributedSettlement[],
) {
  const lastUsed = new Map<string, number>();
  for (const { keyId, at } of used) lastUsed.set(keyId, Math.max(at, lastUsed.get(keyId) ?? 0));
  const touched = [...lastUsed].sort(([a], [b]) => (a < b ? -1 : 1));
  await client.query(
    `update api_keys set spent_nusd = spent_nusd + t.spent, funds_version = funds_version + 1,
       last_used_at = greatest(last_used_at, t.at)
     from unnest($1::uuid[], $2::bigint[], $3::timestamptz[]) as t (id, spent, at) where api_keys.id = t.id`,
    [
      touched.map(([id]) => id),
      touched.map(([id]) => spent.get(id) ?? 0n),
      touched.map(([, at]) => new Date(at).toISOString()),
    ],
  );
  const keyIds = [...new Set(batch.flatMap(({ owner }) => owner?.keyId ?? []))];
  const found = await client.query<KeyRow>(
    'select account_id, hash, credit_limit_nusd, spent_nusd, funds_version from api_keys where id = any($1::uuid[])',
    [keyIds],
  );
  return found.rows.map((row) => ({
    accountId: row.account_id,
    keyHash: row.hash,
    limitFundsNusd: row.credit_limit_nusd === null ? undefined : BigInt(row.credit_limit_nusd) - BigInt(row.spent_nusd),
    version: Number(row.funds_version),
  }));
}
