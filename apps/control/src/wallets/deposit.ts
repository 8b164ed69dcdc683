import { createHash, randomUUID } from 'node:crypto';
import { creditNusd } from '@sotto/wire';
import type pg from 'pg';
import { insertAccount } from '../accounts/ensure-account.ts';
import { isUniqueViolation } from '../database/failures.ts';
import { inTransaction } from '../database/in-transaction.ts';
import { Refused, refused } from '../database/refused.ts';
import type { ControlEvents } from '../events.ts';
import { creditWithin, ledgerAccounts } from '../ledger/post-transaction.ts';
import { waivedPerHourNusd } from '../ledger/waive-charges.ts';
import type { Credit, Issuer } from './issuer.ts';

export interface DepositDependencies {
  readonly pool: pg.Pool;
  readonly issuer: Issuer;
  readonly events: Pick<ControlEvents, 'auditFinding'>;
}

/** SHA-256 of the wallet's key, which the client made, and of the secret that closes it. */
export interface WalletHashes {
  readonly keyHash: string;
  readonly closeHash: string;
}

/** Credits whose signatures are right, for a wallet. */
export interface Deposit extends WalletHashes {
  /** In the order in which they were sent. */
  readonly credits: readonly Credit[];
  /** Names the credits, in whatever order they were sent. */
  readonly depositDigest: string;
}

/** The account and the key of a wallet, to write to the state. */
export interface Wallet {
  readonly accountId: string;
  readonly keyId: string;
}

/** Why a deposit makes no wallet: its credits at these places are spent, a hash is taken, or deposits of their key have stopped. */
export type NotDeposited =
  | { readonly why: 'spent'; readonly places: readonly number[] }
  | { readonly why: 'taken' }
  | { readonly why: 'stopped' };

/** Something is spent or taken, or more credits of an issuer key would be spent than were issued. */
type NoEffect = { readonly why: 'meanwhile' } | { readonly why: 'overspent'; readonly keyId: string };

/**
 * Makes a wallet of credits: an account without a user. Postgres alone decides. The nonces come first, so of two deposits with a common
 * credit one waits for the other, and then has no effect. The same deposit gets the same answer again.
 */
export async function depositCredits(
  deps: DepositDependencies,
  deposit: Deposit,
): Promise<Wallet | Refused<NotDeposited>> {
  const { pool } = deps;
  // Anybody can show spent credits again. That must not cost a transaction, which decides about those that look new.
  const before = await refusalOf(pool, deposit);
  if (before !== undefined) return earlierWallet(pool, deposit, before);
  const made = await inTransaction(pool, (client) => depositWithin(client, deposit)).catch((error: unknown) => {
    if (isUniqueViolation(error)) return refused('meanwhile');
    throw error;
  });
  if (!(made instanceof Refused)) return made;
  if (made.refusal.why === 'overspent') return stop(deps, made.refusal.keyId);
  return earlierWallet(pool, deposit, (await refusalOf(pool, deposit)) ?? refused('taken'));
}

/**
 * Returns the wallet that the same deposit made earlier, or the refusal if there is none. Call it after the refusal was
 * found: the same deposit may have been committed just before.
 */
const earlierWallet = async (
  pool: pg.Pool,
  deposit: Deposit,
  refusal: Refused<NotDeposited>,
): Promise<Wallet | Refused<NotDeposited>> => (await findWallet(pool, deposit, deposit.depositDigest)) ?? refusal;

/** The token at this place is not a credit, or is repeated. */
export interface NoCredit {
  readonly why: 'no_credit';
  readonly at: number;
}

/** Reads a deposit. Asks no database. */
export function readDeposit(
  issuer: Issuer,
  { tokens, ...hashes }: WalletHashes & { readonly tokens: readonly Buffer[] },
): Deposit | Refused<NoCredit> {
  const credits = readCredits(issuer, tokens);
  if (credits instanceof Refused) return credits;
  const digest = createHash('sha256');
  for (const { keyId, nonce } of inOrder(credits)) digest.update(keyId).update(nonce);
  return { ...hashes, credits, depositDigest: digest.digest('base64url') };
}

const inOrder = (credits: readonly Credit[]): Credit[] =>
  [...credits].sort((a, b) => a.keyId.localeCompare(b.keyId) || a.nonce.compare(b.nonce));

/** Verifies all credits. Nothing is looked up for a deposit with a forged one, which the first signature mostly reveals. */
function readCredits(issuer: Issuer, tokens: readonly Buffer[]): Credit[] | Refused<NoCredit> {
  const seen = new Set<string>();
  const credits: Credit[] = [];
  for (const [at, token] of tokens.entries()) {
    const credit = issuer.read(token);
    const name = credit && `${credit.keyId} ${credit.nonce.toString('hex')}`;
    if (credit === undefined || name === undefined || seen.has(name)) return new Refused({ why: 'no_credit', at });
    seen.add(name);
    credits.push(credit);
  }
  return credits;
}

async function depositWithin(
  client: pg.PoolClient,
  { credits, depositDigest, ...hashes }: Deposit,
): Promise<Wallet | Refused<NoEffect>> {
  const sorted = inOrder(credits);
  // Claim the hashes before the nonces. A deposit that waits for the nonces of another must hold nothing that the other needs.
  if (!(await claimHashes(client, hashes, 'shared'))) return refused('meanwhile');
  const spent = await client.query(
    `insert into spent_credits (key_id, nonce) select * from unnest($1::text[], $2::bytea[]) order by 1, 2
     on conflict do nothing`,
    [sorted.map(({ keyId }) => keyId), sorted.map(({ nonce }) => nonce)],
  );
  if (spent.rowCount !== sorted.length) return refused('meanwhile');
  const wallet = await makeWallet(client, { ...hashes, depositDigest });
  const { accountId } = wallet;
  for (const issuerKey of new Set(sorted.map((credit) => credit.keyId))) {
    const count = sorted.filter((credit) => credit.keyId === issuerKey).length;
    await creditWithin(client, {
      ...{ accountId, amountNusd: creditNusd * BigInt(count), kind: 'credits' },
      ...{ reference: `deposit:${accountId}:${issuerKey}`, from: ledgerAccounts.credits(issuerKey) },
    });
    const counted = await client.query(
      'update credit_keys set spent = spent + $2 where key_id = $1 and stopped_at is null and spent + $2 <= issued',
      [issuerKey, count],
    );
    if (counted.rowCount === 0) return new Refused({ why: 'overspent', keyId: issuerKey });
  }
  return wallet;
}

/**
 * Returns whether no key, wallet or order for a wallet has one of the hashes, and keeps it so until the transaction ends. Deposits share
 * the lock, because unique rows keep them from each other. An order has it alone: its wallet exists only once it is paid, and must not
 * find its hashes taken then.
 */
export async function claimHashes(
  client: pg.PoolClient,
  hashes: WalletHashes,
  how: 'shared' | 'alone',
): Promise<boolean> {
  await client.query(
    `select pg_advisory_xact_lock${how === 'shared' ? '_shared' : ''}(hashtext('sotto wallet hashes'))`,
  );
  return areFree(client, hashes);
}

/** Returns whether no key, wallet or order for a wallet has one of the hashes now. */
export async function areFree(db: pg.Pool | pg.PoolClient, { keyHash, closeHash }: WalletHashes): Promise<boolean> {
  const { rowCount } = await db.query(
    `select from api_keys where hash = $1
     union all select from key_secrets where hash = $1
     union all select from wallets where key_hash = $1 or close_hash = $2
     union all select from orders where wallet_key_hash = $1 or wallet_close_hash = $2 limit 1`,
    [keyHash, closeHash],
  );
  return rowCount === 0;
}

/** Makes a wallet without money: an account without a user, and its key. */
export async function makeWallet(
  client: pg.PoolClient,
  made: WalletHashes & { readonly accountId?: string; readonly depositDigest?: string },
): Promise<Wallet> {
  const { accountId, defaultWorkspaceId } = await insertAccount(client, {
    ...{ userId: undefined, name: 'Anonymous wallet' },
    ...(made.accountId === undefined ? {} : { accountId: made.accountId }),
  });
  await client.query(
    // No grants, and no waived charges: both are per account, and wallets cost nothing to make.
    'update accounts set monthly_grant_nusd = 0, waived_nusd = $2, waived_hour = 2147483647 where id = $1',
    [accountId, waivedPerHourNusd],
  );
  const keyId = randomUUID();
  await client.query(
    // Not for the compatibility mode, which shows the key to the broker.
    `insert into api_keys (id, account_id, workspace_id, created_by, kind, name, hash, preview, openai_compatible)
     values ($1, $2, $3, $2, 'inference', 'Anonymous wallet', $4, '', false)`,
    [keyId, accountId, defaultWorkspaceId, made.keyHash],
  );
  await client.query(
    'insert into wallets (account_id, key_id, key_hash, close_hash, deposit_digest) values ($1, $2, $3, $4, $5)',
    [accountId, keyId, made.keyHash, made.closeHash, made.depositDigest ?? null],
  );
  return { accountId, keyId };
}

/** Stops deposits of a key for good, because somebody else signs with it. In a transaction that is not rolled back. */
async function stop(
  { pool, events }: DepositDependencies,
  keyId: string,
): Promise<Refused<{ readonly why: 'stopped' }>> {
  const { rowCount } = await pool.query(
    `insert into credit_keys (key_id, stopped_at) values ($1, now())
     on conflict (key_id) do update set stopped_at = now() where credit_keys.stopped_at is null`,
    [keyId],
  );
  if (rowCount === 1) events.auditFinding({ what: 'more credits of a key were deposited than signed', id: keyId });
  return refused('stopped');
}

/** Finds the wallet of a deposit or, without one, of an order. */
export async function findWallet(
  pool: pg.Pool,
  { keyHash, closeHash }: WalletHashes,
  depositDigest?: string,
): Promise<Wallet | undefined> {
  const { rows } = await pool.query<{ account_id: string; key_id: string }>(
    `select account_id, key_id from wallets
     where key_hash = $1 and close_hash = $2 and deposit_digest is not distinct from $3`,
    [keyHash, closeHash, depositDigest ?? null],
  );
  return rows[0] && { accountId: rows[0].account_id, keyId: rows[0].key_id };
}

/**
 * Says which credits are spent, or that a hash is taken. Undefined: neither. Everybody who asks has shown the credits'
 * signatures.
 */
async function refusalOf(pool: pg.Pool, { credits, ...hashes }: Deposit): Promise<Refused<NotDeposited> | undefined> {
  const { rows } = await pool.query<{ at: number }>(
    `select t.at::int from unnest($1::text[], $2::bytea[]) with ordinality as t (key_id, nonce, at)
     join spent_credits s on s.key_id = t.key_id and s.nonce = t.nonce order by 1`,
    [credits.map(({ keyId }) => keyId), credits.map(({ nonce }) => nonce)],
  );
  if (rows.length > 0) return new Refused({ why: 'spent', places: rows.map(({ at }) => at - 1) });
  return (await areFree(pool, hashes)) ? undefined : refused('taken');
}
