import type { Nusd } from '@sotto/money';
import type { BookedCharges } from '@sotto/state';
import type pg from 'pg';
import type { SqlRow } from '../database/columns.ts';
import { heldLimit } from '../database/held-rules.ts';
import { inTransaction, sentTogether } from '../database/in-transaction.ts';
import { prepared } from '../database/prepared.ts';
import type { accounts, apiKeys } from '../database/schema.ts';
import { bookMonths } from './budget-months.ts';
import { readGrants, writeGrants } from './grants-of-accounts.ts';
import { type Postings, postCharges } from './post-charges.ts';
import { type AttributedSettlement, recordable, recordUsage, type UsedSettlement } from './record-usage.ts';
import { waiveCharges } from './waive-charges.ts';

/** The values of a wallet to write to the state after booking. */
export interface BookedWallet {
  readonly accountId: string;
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

/** Sums of all accounts together. */
export interface BookedUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly chargedNusd: Nusd;
}

export interface BookingResult {
  readonly wallets: readonly BookedWallet[];
  /**
   * Holds of charges that went to suspense, now or before. Their notes belong to wallets that could not be identified.
   */
  readonly unattributedHoldIds: readonly string[];
  readonly booked: number;
  /** What the newly booked settlements sum up to. */
  readonly used: BookedUsage;
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
  const locked = await lockPayers(client, claimed);
  const recorded = claimed.map((entry) => ({ ...entry, settlement: recordable(entry.settlement) }));
  // A statement of its own, after the locks: the snapshot of the first may be older than the last commit of an account.
  const grants = await readGrants(
    client,
    locked.filter((row) => row.granted_month !== null).map(({ id }) => id),
    recorded.map(({ settlement }) => settlement.month),
  );
  const { batch, waivedNusd } = await waiveCharges(client, recorded);
  const { rows: inserted } = await insertSettlements<{ id: string }>(client, [
    batch.map(({ settlement }) => settlement.id),
    batch.map(({ settlement }) => settlement.chargeNusd),
  ]);
  const postings = postCharges(
    batch,
    inserted.map(({ id }) => id),
    { balances: new Map(locked.map((row) => [row.id, BigInt(row.balance_nusd)])), grants },
  );
  const [keys, budgets] = await sentTogether([
    updateKeys(client, postings, batch),
    bookMonths(client, postings.months),
    writeEntries(client, postings),
    writeBalances(client, postings),
    writeGrants(client, postings.grants),
    recordUsage(client, postings.used),
  ]);

  const known = new Set(locked.map(({ id }) => id));
  const charges = batch.filter(({ settlement }) => settlement.kind === 'charge');
  const of = {
    keys: Map.groupBy(keys, ({ accountId }) => accountId),
    budgets: Map.groupBy(budgets, ({ accountId }) => accountId),
    charges: Map.groupBy(charges, ({ owner }) => owner?.accountId),
  };
  return {
    booked: postings.used.length,
    used: sumOf(postings.used),
    shortfallNusd: postings.shortfallNusd,
    waivedNusd,
    unattributedHoldIds: charges
      .filter(({ owner }) => !known.has(owner?.accountId ?? ''))
      .map(({ settlement }) => settlement.id),
    wallets: locked.map(({ id, wallet_id, deleted_at, balance_nusd, version }) => {
      const charged = postings.balances.get(id);
      return {
        accountId: id,
        walletId: wallet_id,
        // As `spendableNusd` has it.
        balanceNusd: deleted_at === null ? (charged ?? BigInt(balance_nusd)) : 0n,
        version: Number(version) + (charged === undefined ? 0 : 1),
        keys: of.keys.get(id) ?? [],
        budgets: of.budgets.get(id) ?? [],
        holdIds: (of.charges.get(id) ?? []).map(({ settlement }) => settlement.id),
      };
    }),
  };
}

const sumOf = (booked: readonly UsedSettlement[]): BookedUsage =>
  booked.reduce<BookedUsage>(
    (sum, row) => ({
      // A quiet settlement tells no tokens.
      inputTokens: sum.inputTokens + (row.v === 1 ? row.promptTokens : 0),
      outputTokens: sum.outputTokens + (row.v === 1 ? row.completionTokens : 0),
      chargedNusd: sum.chargedNusd + BigInt(row.chargeNusd),
    }),
    { inputTokens: 0, outputTokens: 0, chargedNusd: 0n },
  );

// Locks are taken in one order, so that two bookings never deadlock. They do not hold up rows that refer to these accounts.
const selectPayers = prepared(
  `select id, wallet_id, balance_nusd, version, granted_month, deleted_at
   from accounts where id = any($1::uuid[]) order by id for no key update`,
);
const lockPayers = async (client: pg.PoolClient, batch: readonly AttributedSettlement[]): Promise<AccountRow[]> =>
  (await selectPayers<AccountRow>(client, [[...new Set(batch.flatMap(({ owner }) => owner?.accountId ?? []))]])).rows;

// In one order too: no account's lock serializes the settlements without an owner.
const insertSettlements = prepared(
  `insert into settlements (id, charge_nusd) select * from unnest($1::text[], $2::bigint[]) order by 1
   on conflict (id) do nothing returning id`,
);

const insertEntries = prepared(
  `with posted as (
     insert into ledger_transactions (id, kind, reference)
     select id, 'charge', reference from unnest($1::uuid[], $2::text[]) as t (id, reference)
   )
   insert into ledger_entries (transaction_id, ledger_account, amount_nusd)
   select * from unnest($3::uuid[], $4::text[], $5::bigint[])`,
);

async function writeEntries(client: pg.PoolClient, { transactions, entries }: Postings): Promise<void> {
  if (entries.length === 0) return;
  await insertEntries(client, [
    transactions.map(({ id }) => id),
    transactions.map(({ reference }) => reference),
    entries.map(({ transactionId }) => transactionId),
    entries.map(({ account }) => account),
    entries.map(({ amount }) => amount),
  ]);
}

// The settler itself writes these balances to the state, after the commit and again after a crash. The projector does not need to.
const updateBalances = prepared(
  `update accounts set balance_nusd = t.balance, version = accounts.version + 1,
     projected_version = case when accounts.projected_version = accounts.version then accounts.version + 1
       else accounts.projected_version end
   from unnest($1::uuid[], $2::bigint[]) as t (id, balance) where accounts.id = t.id`,
);

async function writeBalances(client: pg.PoolClient, { balances }: Postings): Promise<void> {
  if (balances.size > 0) await updateBalances(client, [[...balances.keys()], [...balances.values()]]);
}

type KeyRow = SqlRow<typeof apiKeys, 'account_id' | 'hash' | 'credit_limit_nusd' | 'spent_nusd' | 'funds_version'>;

const addToKeys = prepared(
  `update api_keys set spent_nusd = spent_nusd + t.spent, funds_version = funds_version + 1,
     last_used_at = greatest(last_used_at, t.at)
   from unnest($1::uuid[], $2::bigint[], $3::timestamptz[]) as t (id, spent, at) where api_keys.id = t.id`,
);
const selectKeys = prepared(
  `select k.account_id, k.hash, ${heldLimit} as credit_limit_nusd, k.spent_nusd, k.funds_version
   from api_keys k join workspaces w on w.id = k.workspace_id where k.id = any($1::uuid[])`,
);

/** Adds the charges and last use of the keys. Returns every key of the batch as it is now. */
async function updateKeys(
  client: pg.PoolClient,
  { used, spent }: Postings,
  batch: readonly AttributedSettlement[],
): Promise<readonly (BookedWallet['keys'][number] & { readonly accountId: string })[]> {
  const lastUsed = new Map<string, number>();
  for (const { keyId, at } of used) lastUsed.set(keyId, Math.max(at, lastUsed.get(keyId) ?? 0));
  const touched = [...lastUsed].sort(([a], [b]) => (a < b ? -1 : 1));
  const added =
    touched.length > 0 &&
    addToKeys(client, [
      touched.map(([id]) => id),
      touched.map(([id]) => spent.get(id) ?? 0n),
      touched.map(([, at]) => new Date(at).toISOString()),
    ]);
  const keyIds = [...new Set(batch.flatMap(({ owner }) => owner?.keyId ?? []))];
  const [{ rows }] = await sentTogether([selectKeys<KeyRow>(client, [keyIds]), added]);
  return rows.map((row) => ({
    accountId: row.account_id,
    keyHash: row.hash,
    limitFundsNusd: row.credit_limit_nusd === null ? undefined : BigInt(row.credit_limit_nusd) - BigInt(row.spent_nusd),
    version: Number(row.funds_version),
  }));
}
