import { randomUUID } from 'node:crypto';
import type { Nusd } from '@sotto/money';
import { type BookedCharges, monthOf, type Settlement } from '@sotto/state';
import type pg from 'pg';
import type { SqlRow } from '../database/columns.ts';
import { inTransaction } from '../database/in-transaction.ts';
import type { accounts, apiKeys } from '../database/schema.ts';
import { bookMonths } from './budget-months.ts';
import { drawCharge, type MonthlyGrant } from './draw-charge.ts';
import { readGrants, writeGrants } from './grants-of-accounts.ts';
import { ledgerAccounts } from './post-transaction.ts';
import { type AttributedSettlement, recordable, recordUsage, type UsedSettlement } from './record-usage.ts';
import { waiveCharges } from './waive-charges.ts';

/** The values of a wallet to write to the state after booking. */
export interface BookedWallet {
  readonly walletId: string;
  readonly balanceNusd: Nusd;
  readonly version: number;
  readonly keys: readonly {
    readonly keyHash: string;
    readonly limitFundsNusd: Nusd | undefined;
    readonly version: number;
  }[];
  /** The spending of the budgets and months of the batch. */
  readonly budgets: BookedCharges['budgets'];
  /** Every hold of the batch, booked now or before. The state may delete their notes. */
  readonly holdIds: readonly string[];
}

export interface BookingResult {
  readonly wallets: readonly BookedWallet[];
  /**
   * Holds of charges that went to suspense, now or before. Their notes belong to wallets that could not be identified.
   */
  readonly unattributedHoldIds: readonly string[];
  readonly booked: number;
  readonly shortfallNusd: Nusd;
  /** Charges of abandoned requests, which the operator bears. */
  readonly waivedNusd: Nusd;
}

type AccountRow = SqlRow<
  typeof accounts,
  'id' | 'wallet_id' | 'balance_nusd' | 'version' | 'granted_month' | 'deleted_at'
>;

/**
 * Books settlements in one Postgres transaction. Each is booked at most once, by its id. It writes charges as double
 * entries, usage rows, and their daily sums. A settlement that was booked before changes nothing. A charge beyond its
 * wallet goes to the operator’s shortfall, and a charge without an identifiable account to suspense. So no charge is
 * dropped, and none blocks the others.
 *
 * The critical interleaving: two settlers book the same entry, or one died after its commit and before it wrote to the
 * state. `insert ... on conflict do nothing` lets one of them win and makes the other wait for its commit.
 *
 * An expiry of a monthly grant reads the held money and lowers the balance, but requests are admitted meanwhile. Two more
 * interleavings follow:
 *
 * - A hold is placed between that read and the write of the lower balance to the state. Its charge may find too little balance.
 * - A charge arrives after the grant of its month has expired, because its hold was unknown: its broker was taken for dead.
 *
 * In both, the charge takes back what has expired (`draw-charge.ts`), in the transaction that books it. So no expiry causes a
 * shortfall, and no late charge uses up the next month's grant. Bookings, grants and expiries of an account wait for each other,
 * because each locks the account's row first.
 */
export async function bookSettlements(pool: pg.Pool, batch: readonly AttributedSettlement[]): Promise<BookingResult> {
  return inTransaction(pool, (client) => bookWithin(client, batch));
}

async function bookWithin(client: pg.PoolClient, claimed: readonly AttributedSettlement[]): Promise<BookingResult> {
  const accountIds = [...new Set(claimed.flatMap(({ owner }) => owner?.accountId ?? []))];
  // Locks are taken in one order, so that two bookings never deadlock.
  const locked = await client.query<AccountRow>(
    'select id, wallet_id, balance_nusd, version, granted_month, deleted_at from accounts where id = any($1::uuid[]) order by id for update',
    [accountIds],
  );
  const accounts = new Map(
    locked.rows.map((row) => [
      row.id,
      {
        walletId: row.wallet_id,
        balance: BigInt(row.balance_nusd),
        version: Number(row.version),
        isDeleted: row.deleted_at !== null,
        charged: false,
      },
    ]),
  );
  const recorded = claimed.map((entry) => ({ ...entry, settlement: recordable(entry.settlement) }));
  // A statement of its own, after the locks: the snapshot of the first may be older than the last commit of an account.
  const grants = await readGrants(
    client,
    locked.rows.filter((row) => row.granted_month !== null).map(({ id }) => id),
    recorded.map(({ settlement }) => monthOfHold(settlement)),
  );
  const drawnOn = new Map<string, readonly MonthlyGrant[]>();
  const { batch, waivedNusd } = await waiveCharges(client, recorded);
  const inserted = await client.query<{ id: string }>(
    // In one order too: no account's lock serializes the settlements without an owner.
    `insert into settlements (id, charge_nusd) select * from unnest($1::text[], $2::bigint[]) order by 1
     on conflict (id) do nothing returning id`,
    [batch.map(({ settlement }) => settlement.id), batch.map(({ settlement }) => settlement.chargeNusd)],
  );
  const fresh = new Set(inserted.rows.map((row) => row.id));
  const entries: { transactionId: string; account: string; amount: Nusd }[] = [];
  const transactions: { id: string; reference: string }[] = [];
  const spent = new Map<string, Nusd>();
  // Every entry of the batch, because a settlement that was booked before may not have reached the state.
  const months = batch.flatMap(({ settlement, owner }) =>
    owner === undefined ? [] : [{ keyId: owner.keyId, month: monthOfHold(settlement), chargedNusd: 0n }],
  );
  const used: UsedSettlement[] = [];
  let shortfallNusd = 0n;

  for (const { settlement, owner } of batch) {
    // `delete` also prevents a settlement that is twice in one batch from being booked twice.
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
    const month = monthOfHold(settlement);
    const funds = {
      balanceNusd: account.balance,
      grants: drawnOn.get(owner.accountId) ?? grants.get(owner.accountId) ?? [],
    };
    const drawn = drawCharge(funds, { chargeNusd: charge, month });
    if (funds.grants.length > 0) drawnOn.set(owner.accountId, drawn.grants);
    account.balance -= drawn.paidNusd;
    account.charged = true;
    shortfallNusd += drawn.shortfallNusd;
    const payers = [
      [ledgerAccounts.wallet(owner.accountId), drawn.paidNusd],
      [ledgerAccounts.grants, drawn.restoredNusd],
      [ledgerAccounts.shortfall, drawn.shortfallNusd],
    ] as const;
    for (const [payer, nusd] of payers)
      if (nusd > 0n) entries.push({ transactionId: id, account: payer, amount: -nusd });
    spent.set(owner.keyId, (spent.get(owner.keyId) ?? 0n) + charge);
    months.push({ keyId: owner.keyId, month, chargedNusd: charge });
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
    // The settler itself writes these balances to the state, after the commit and again after a crash. The projector
    // does not need to.
    `update accounts set balance_nusd = t.balance, version = accounts.version + 1,
       projected_version = case when accounts.projected_version = accounts.version then accounts.version + 1
         else accounts.projected_version end
     from unnest($1::uuid[], $2::bigint[]) as t (id, balance) where accounts.id = t.id`,
    [changed.map(([id]) => id), changed.map(([, { balance }]) => balance)],
  );
  await writeGrants(
    client,
    [...drawnOn].flatMap(([accountId, of]) => of.map((grant) => ({ accountId, ...grant }))),
  );
  await recordUsage(client, used);
  const keys = await updateKeys(client, used, spent, batch);
  const budgets = await bookMonths(client, months);

  return {
    booked: used.length,
    shortfallNusd,
    waivedNusd,
    unattributedHoldIds: batch
      .filter(({ settlement, owner }) => settlement.kind === 'charge' && !accounts.has(owner?.accountId ?? ''))
      .map(({ settlement }) => settlement.id),
    wallets: [...accounts].map(([accountId, { walletId, balance, version, isDeleted, charged }]) => ({
      walletId,
      // As `spendableNusd` has it.
      balanceNusd: isDeleted ? 0n : balance,
      version: charged ? version + 1 : version,
      keys: keys.filter((key) => key.accountId === accountId),
      budgets: budgets.filter((budget) => budget.accountId === accountId),
      holdIds: batch
        .filter(({ settlement, owner }) => settlement.kind === 'charge' && owner?.accountId === accountId)
        .map(({ settlement }) => settlement.id),
    })),
  };
}

/** A broker of an earlier version does not state the month of the hold. */
const monthOfHold = ({ month, at }: Settlement): string => month ?? monthOf(at);

type KeyRow = SqlRow<typeof apiKeys, 'account_id' | 'hash' | 'credit_limit_nusd' | 'spent_nusd' | 'funds_version'>;

/** Adds the charges and last use of the keys. Returns every key of the batch as it is now. */
async function updateKeys(
  client: pg.PoolClient,
  used: readonly UsedSettlement[],
  spent: ReadonlyMap<string, Nusd>,
  batch: readonly AttributedSettlement[],
) {
  const lastUsed = new Map<string, number>();
  for (const { keyId, at } of used) lastUsed.set(keyId, Math.max(at, lastUsed.get(keyId) ?? 0));
  const touched = [...lastUsed].sort(([a], [b]) => (a < b ? -1 : 1));
  // For the trigger that books months for the previous release.
  await client.query("set local sotto.books_months = 'on'");
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
