import { randomUUID } from 'node:crypto';
import { maxNusd, type Nusd } from '@sotto/money';
import type pg from 'pg';
import { inTransaction } from '../database/in-transaction.ts';

export const ledgerAccounts = {
  /** The money that an account may spend. */
  wallet: (accountId: string): string => `wallet:${accountId}`,
  /** Money from outside without a rail: credits by the operator. */
  funding: 'funding',
  /** Money that came through a payment rail. */
  fundingBy: (rail: string): string => `funding:${rail}`,
  /** Fees that customers paid on top of the credited amounts. */
  fees: 'fees',
  /** Pays monthly grants, and takes back their expired parts. */
  grants: 'grants',
  /** What was left to accounts when their owners deleted them. */
  forfeited: 'forfeited',
  /** Signed credits of an issuer key that nobody has deposited yet. */
  credits: (keyId: string): string => `credits:${keyId}`,
  /** What closed wallets lost or won, because less than a credit is rounded at random. */
  rounding: 'rounding',
  /** Charges of requests. */
  revenue: 'revenue',
  /** Charges beyond a wallet’s balance, which are the operator’s loss. */
  shortfall: 'shortfall',
  /** Charges whose account is unknown. */
  suspense: 'suspense',
} as const;

/**
 * SQL: the part of an account's balance that requests may be admitted by, which is the balance of its wallet in the state. A deleted
 * account has none, so that none of its keys can spend before it is revoked. The rest stays in the ledger.
 */
export const spendableNusd = 'case when deleted_at is null then balance_nusd else 0 end';

export interface Credit {
  readonly accountId: string;
  readonly amountNusd: Nusd;
  readonly kind: 'top_up' | 'refund' | 'adjustment' | 'grant' | 'grant_expired' | 'credits';
  /** Unique: a second credit with the same reference changes nothing. */
  readonly reference: string;
}

export interface CreditedBalance {
  readonly walletId: string;
  readonly balanceNusd: Nusd;
  readonly version: number;
}

/**
 * Credits an account with one transaction and two entries, and updates the balance. Returns the new balance, or
 * undefined if the account does not exist. A reference that was booked before changes nothing and returns the current
 * balance. Throws a `RangeError` if the balance would leave the range that the state can hold.
 */
export function creditAccount(pool: pg.Pool, credit: Credit): Promise<CreditedBalance | undefined> {
  return inTransaction(pool, (client) => creditWithin(client, { ...credit, from: ledgerAccounts.funding }));
}

/** Does the same as `creditAccount`, in the caller’s transaction and from a chosen ledger account. */
export async function creditWithin(
  client: pg.PoolClient,
  { from, ...credit }: Credit & { readonly from: string },
): Promise<CreditedBalance | undefined> {
  const account = await lockAccount(client, credit.accountId);
  if (account === undefined) return undefined;
  const transactionId = await beginTransaction(client, credit);
  if (transactionId === undefined) return account;
  const balanceNusd = account.balanceNusd + credit.amountNusd;
  if (balanceNusd < 0n || balanceNusd > maxNusd) throw new RangeError('the balance would be out of range');
  await postEntries(client, transactionId, [
    [ledgerAccounts.wallet(credit.accountId), credit.amountNusd],
    [from, -credit.amountNusd],
  ]);
  return setBalance(client, credit.accountId, { ...account, balanceNusd });
}

/**
 * Takes money back from an account in the caller’s transaction. It takes what the wallet has, which never falls below
 * zero, and the rest from the operator’s shortfall. A reference that was booked before changes nothing.
 */
export async function debitWithin(
  client: pg.PoolClient,
  { to, ...debit }: Credit & { readonly to: string },
): Promise<{ readonly shortfallNusd: Nusd }> {
  const account = await lockAccount(client, debit.accountId);
  if (account === undefined) throw new Error('there is no such account');
  const transactionId = await beginTransaction(client, debit);
  if (transactionId === undefined) return { shortfallNusd: 0n };
  const short = debit.amountNusd > account.balanceNusd;
  const takenNusd = short ? account.balanceNusd : debit.amountNusd;
  const shortfallNusd = debit.amountNusd - takenNusd;
  await postEntries(client, transactionId, [
    [ledgerAccounts.wallet(debit.accountId), -takenNusd],
    [ledgerAccounts.shortfall, -shortfallNusd],
    [to, debit.amountNusd],
  ]);
  await setBalance(client, debit.accountId, { ...account, balanceNusd: account.balanceNusd - takenNusd });
  return { shortfallNusd };
}

/** Takes credits out of a locked account's wallet: `count` of them, and `roundedNusd` to the account of roundings. */
export async function takeCreditsWithin(
  client: pg.PoolClient,
  account: CreditedBalance,
  taken: {
    readonly accountId: string;
    readonly reference: string;
    readonly keyId: string;
    readonly creditsNusd: Nusd;
    readonly roundedNusd: Nusd;
  },
): Promise<CreditedBalance> {
  const transactionId = await beginTransaction(client, { kind: 'credits', reference: taken.reference });
  if (transactionId === undefined) throw new Error('these credits were booked before');
  const nusd = taken.creditsNusd + taken.roundedNusd;
  await postEntries(client, transactionId, [
    [ledgerAccounts.wallet(taken.accountId), -nusd],
    [ledgerAccounts.credits(taken.keyId), taken.creditsNusd],
    [ledgerAccounts.rounding, taken.roundedNusd],
  ]);
  return setBalance(client, taken.accountId, { ...account, balanceNusd: account.balanceNusd - nusd });
}

/** Moves money between two ledger accounts other than wallets. A reference that was booked before changes nothing. */
export async function transferWithin(
  client: pg.PoolClient,
  transfer: {
    readonly from: string;
    readonly to: string;
    readonly amountNusd: Nusd;
    readonly kind: 'fee';
    readonly reference: string;
  },
): Promise<void> {
  const transactionId = await beginTransaction(client, transfer);
  if (transactionId === undefined) return;
  await postEntries(client, transactionId, [
    [transfer.to, transfer.amountNusd],
    [transfer.from, -transfer.amountNusd],
  ]);
}

/** Locks an account’s row until the transaction ends, and returns its balance. */
export async function lockAccount(client: pg.PoolClient, accountId: string): Promise<CreditedBalance | undefined> {
  const { rows } = await client.query<{ wallet_id: string; balance_nusd: string; version: string }>(
    'select wallet_id, balance_nusd, version from accounts where id = $1 for update',
    [accountId],
  );
  const [row] = rows;
  return row && { walletId: row.wallet_id, balanceNusd: BigInt(row.balance_nusd), version: Number(row.version) };
}

/** Creates a ledger transaction and returns its id. Undefined if its reference was booked before. */
async function beginTransaction(
  client: pg.PoolClient,
  { kind, reference }: { readonly kind: string; readonly reference: string },
): Promise<string | undefined> {
  const id = randomUUID();
  const posted = await client.query(
    'insert into ledger_transactions (id, kind, reference) values ($1, $2, $3) on conflict (reference) do nothing',
    [id, kind, reference],
  );
  return posted.rowCount === 1 ? id : undefined;
}

async function postEntries(
  client: pg.PoolClient,
  transactionId: string,
  entries: readonly (readonly [account: string, amountNusd: Nusd])[],
): Promise<void> {
  const posted = entries.filter(([, amountNusd]) => amountNusd !== 0n);
  await client.query(
    'insert into ledger_entries (transaction_id, ledger_account, amount_nusd) select $1, * from unnest($2::text[], $3::bigint[])',
    [transactionId, posted.map(([account]) => account), posted.map(([, amountNusd]) => amountNusd)],
  );
}

async function setBalance(
  client: pg.PoolClient,
  accountId: string,
  { walletId, balanceNusd, version }: CreditedBalance,
): Promise<CreditedBalance> {
  const next = { walletId, balanceNusd, version: version + 1 };
  await client.query('update accounts set balance_nusd = $2, version = $3 where id = $1', [
    accountId,
    next.balanceNusd,
    next.version,
  ]);
  return next;
}
