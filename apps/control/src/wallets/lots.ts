import { createHash, randomBytes, randomInt } from 'node:crypto';
import { forEachReachable, hashSecret, type ProjectionPort, shardOfWallet, shards } from '@sotto/state';
import { creditNusd, creditsPerLot, ServiceError } from '@sotto/wire';
import type pg from 'pg';
import { isDisputed } from '../database/billing-schema.ts';
import { inTransaction } from '../database/in-transaction.ts';
import { revokeKey } from '../keys/key-store.ts';
import { type CreditedBalance, ledgerAccounts, lockAccount, takeCreditsWithin } from '../ledger/post-transaction.ts';
import { unlessUnavailable } from '../projection/project-keys.ts';
import type { Projector } from '../projection/projector.ts';
import type { Issuer } from './issuer.ts';

export interface LotDependencies {
  readonly pool: pg.Pool;
  readonly state: Pick<ProjectionPort, 'reserve' | 'book' | 'readNotes'>;
  readonly projector: Pick<Projector, 'key' | 'account'>;
  readonly issuer: Issuer;
  readonly now: () => number;
  /** Returns a whole number from 0 to below its argument, each with the same probability. */
  readonly random?: ((below: number) => number) | undefined;
}

/** 50 blinded numbers, and the secret that pays for them: a code of the dashboard, or the secret that closes a wallet. */
export interface Lot {
  readonly keyId: string;
  readonly blinded: readonly Buffer[];
  readonly paidBy: { readonly kind: 'code' | 'close'; readonly secret: string };
}

/** The most lots that leave accounts in 24 hours: of one account, and in all. */
const lotsADay = { ofOne: 10, ofAll: 2_000 };
const lotNusd = creditNusd * BigInt(creditsPerLot);
const dayMs = 86_400_000;
/** Above the time that a transaction may take, so that a reservation that is older has no transaction any more, or a stuck one. */
const reservedMs = 30_000;

/** Names a lot. Only who has its secret can name it, so a repeated request needs no other credential. */
function lotId({ keyId, blinded, paidBy: { kind, secret } }: Lot): string {
  const hash = createHash('sha256').update(`sotto lot v1 ${kind} ${hashSecret(secret)} ${keyId} `);
  for (const number of blinded) hash.update(number);
  return hash.digest('base64url');
}

/**
 * Withdraws a lot from the account that a code names: lock, reserve in the state, book, commit, write to the state, sign. A request that
 * is repeated after any of these steps gets the same signatures. docs/decisions/anonymous-wallets.md lists the interleavings.
 */
export async function withdrawLot(deps: LotDependencies, lot: Lot): Promise<Buffer[]> {
  const { pool, now } = deps;
  const known = await signAgain(deps, lot);
  if (known !== undefined) return known;
  assertSignable(deps, lot);
  const code = [hashSecret(lot.paidBy.secret), new Date(now())];
  const open = await pool.query('select from credit_codes where code_hash = $1 and expires_at > $2', code);
  if (open.rowCount === 0) return signPaid(deps, lot, noCode());
  const moved = await inTransaction(pool, async (client) => {
    const used = await client.query<{ account_id: string }>(
      'delete from credit_codes where code_hash = $1 and expires_at > $2 returning account_id',
      code,
    );
    const accountId = used.rows[0]?.account_id;
    if (accountId === undefined) return undefined;
    const locked = await lockWithEpoch(client, accountId);
    await assertWithdrawable(client, { accountId, balanceNusd: locked.account.balanceNusd, now: now() });
    return move(deps, client, lot, { ...locked, accountId, nusd: lotNusd, count: creditsPerLot, alone: false });
  });
  if (moved !== undefined) await tellState(deps, moved);
  return signPaid(deps, lot, noCode());
}

/**
 * Closes a wallet: revokes its key and, when nothing is held or unbooked any more, turns the balance into credits, at most a lot at once.
 * A rest below a credit becomes one with the probability rest ÷ credit. The draw is stored before its result leaves, and empties the
 * wallet, so nobody draws twice.
 *
 * The revocation reaches the state before the reservation finds nothing held, and the state counts both steps, so no request is
 * admitted in between. A charge of a broker that was taken for dead finds an empty wallet: it is the operator's shortfall.
 */
export async function closeWallet(deps: LotDependencies, lot: Lot): Promise<Buffer[]> {
  const { pool, projector, random = randomInt } = deps;
  const known = await signAgain(deps, lot);
  if (known !== undefined) return known;
  assertSignable(deps, lot);
  const { rows } = await pool.query<{ account_id: string; key_id: string }>(
    'select account_id, key_id from wallets where close_hash = $1',
    [hashSecret(lot.paidBy.secret)],
  );
  const [wallet] = rows;
  if (wallet === undefined) throw new ServiceError('not_found', { message: 'No wallet has this secret.' });
  await assertEnabled(pool, wallet.account_id);
  await inTransaction(pool, (client) => revokeKey(client, wallet.key_id));
  await projector.key(wallet.key_id);
  const accountId = wallet.account_id;
  const moved = await inTransaction(pool, async (client) => {
    const locked = await lockWithEpoch(client, accountId);
    await assertEnabled(client, accountId);
    const { balanceNusd } = locked.account;
    const closing = await client.query(
      'update wallets set closed_by = $2 where account_id = $1 and (closed_by is null or $3::bigint > 0)',
      [accountId, lotId(lot), balanceNusd],
    );
    if (closing.rowCount === 0) return undefined;
    const nusd = balanceNusd < lotNusd ? balanceNusd : lotNusd;
    const isRoundedUp = random(Number(creditNusd)) < Number(nusd % creditNusd);
    const count = Number(nusd / creditNusd) + (isRoundedUp ? 1 : 0);
    return move(deps, client, lot, { ...locked, accountId, nusd, count, alone: true });
  });
  if (moved !== undefined) await tellState(deps, moved);
  return signPaid(deps, lot, isClosed());
}

/** Whether a wallet has money left, of which another lot gets credits. */
export async function hasMore(pool: pg.Pool, closeSecret: string): Promise<boolean> {
  const { rowCount } = await pool.query(
    'select from wallets w join accounts a on a.id = w.account_id where w.close_hash = $1 and a.balance_nusd > 0',
    [hashSecret(closeSecret)],
  );
  return rowCount === 1;
}

const noCode = (): ServiceError =>
  new ServiceError('forbidden', { message: 'The code is unknown, used or expired. Make another on the billing page.' });
const isClosed = (): ServiceError =>
  new ServiceError('conflict', { message: 'Another lot has closed this wallet. Send that one again for its credits.' });

/** Signs what was signed of a lot before. Undefined if it was never signed. */
async function signAgain({ pool, issuer }: LotDependencies, lot: Lot): Promise<Buffer[] | undefined> {
  const { rows } = await pool.query<{ count: number }>('select count from credit_issuances where id = $1', [
    lotId(lot),
  ]);
  const [issuance] = rows;
  if (issuance === undefined) return undefined;
  const signatures = await issuer.sign(lot.keyId, lot.blinded.slice(0, issuance.count));
  // Its private key was removed from the file. The client keeps the lot.
  if (signatures === undefined) throw new ServiceError('service_unavailable');
  return signatures;
}

/** Signs a lot that this request or one for the same lot has paid for. Throws the refusal if there was none. */
async function signPaid(deps: LotDependencies, lot: Lot, refusal: ServiceError): Promise<Buffer[]> {
  const signatures = await signAgain(deps, lot);
  if (signatures === undefined) throw refusal;
  return signatures;
}

/** Refuses a new lot that could not be signed, before it changes anything. */
function assertSignable({ issuer, now }: LotDependencies, { keyId, blinded }: Lot): void {
  const refuse = (param: string, message: string): never => {
    throw new ServiceError('invalid_request', { message: `\`${param}\` ${message}`, param });
  };
  if (!issuer.signs(keyId, now())) refuse('key_id', 'is not the issuer key of this year.');
  if (!issuer.fits(keyId, blinded))
    refuse('blinded', 'must be different numbers, above 0 and below the modulus of the key.');
}

interface Locked {
  readonly account: CreditedBalance;
  /** The recorded epoch of the account's shard. */
  readonly epoch: number;
}

/** Locks the epoch of an account's shard, which many may share, then the account. */
async function lockWithEpoch(client: pg.PoolClient, accountId: string): Promise<Locked> {
  // A rebuild of the shard waits for these locks.
  await client.query("set local statement_timeout = '5s'");
  await client.query("set local idle_in_transaction_session_timeout = '5s'");
  const found = await client.query<{ wallet_id: string }>('select wallet_id from accounts where id = $1', [accountId]);
  const shard = shardOfWallet(found.rows[0]?.wallet_id ?? '');
  const { rows } = await client.query<{ epoch: string }>('select epoch from shard_epochs where shard = $1 for share', [
    shard,
  ]);
  const account = await lockAccount(client, accountId);
  if (account === undefined || rows[0] === undefined) throw new ServiceError('service_unavailable');
  return { account, epoch: Number(rows[0].epoch) };
}

async function assertEnabled(db: pg.Pool | pg.PoolClient, accountId: string): Promise<void> {
  const { rowCount } = await db.query('select from accounts where id = $1 and disabled_at is null', [accountId]);
  if (rowCount === 0) throw new ServiceError('forbidden', { message: 'This account is disabled.' });
}

/**
 * Refuses a withdrawal beyond what crypto payments left. Credits cannot be called back, but cards can, for months, and grants are not
 * money. Charges count against crypto first: all that ever came from elsewhere stays.
 */
async function assertWithdrawable(
  client: pg.PoolClient,
  { accountId, balanceNusd, now }: { readonly accountId: string; readonly balanceNusd: bigint; readonly now: number },
): Promise<void> {
  await assertEnabled(client, accountId);
  const { rows } = await client.query<{ disputed: boolean; other: string; of_one: number; of_all: number }>(
    `select exists (select from orders o where o.account_id = $1 and ${isDisputed}) as disputed,
       (select coalesce(sum(e.amount_nusd), 0)::text from ledger_entries e
         where e.ledger_account = $2 and e.amount_nusd > 0 and not exists (
           select from ledger_entries f where f.transaction_id = e.transaction_id and f.ledger_account = any($3::text[])
         )) as other,
       (select count(*)::int from credit_issuances where account_id = $1 and created_at > $4) as of_one,
       (select count(*)::int from credit_issuances i where created_at > $4
         and not exists (select from wallets w where w.account_id = i.account_id)) as of_all`,
    // The test rail is no money either way, and lets an operator try this.
    [
      accountId,
      ledgerAccounts.wallet(accountId),
      ['crypto', 'test'].map(ledgerAccounts.fundingBy),
      new Date(now - dayMs),
    ],
  );
  const [found] = rows;
  if (found === undefined) throw new Error('the account was not read');
  if (found.disputed) throw new ServiceError('forbidden', { message: 'A payment of this account is disputed.' });
  if (found.of_one >= lotsADay.ofOne || found.of_all >= lotsADay.ofAll)
    throw new ServiceError('top_up_limit', {
      message: 'The limit of credits for 24 hours is reached. Try again later.',
    });
  if (balanceNusd - BigInt(found.other) >= lotNusd) return;
  throw new ServiceError('insufficient_balance', {
    message: 'A lot costs 5 USD. Only money that was paid by crypto, and that no request has used, can become credits.',
  });
}

interface Moved {
  readonly after: CreditedBalance;
  readonly noteId: string;
}

/** Moves money from a locked account to the credits of a key, and stores how many of the lot's numbers are signed. */
async function move(
  { state, now }: LotDependencies,
  client: pg.PoolClient,
  lot: Lot,
  taken: Locked & {
    readonly accountId: string;
    /** What leaves the account, for `count` credits. The difference is rounded. */
    readonly nusd: bigint;
    readonly count: number;
    readonly alone: boolean;
  },
): Promise<Moved> {
  const { account, accountId, nusd, count, alone } = taken;
  const { walletId, balanceNusd } = account;
  const noteId = `reservation:${walletId}:${now()}:${randomBytes(12).toString('hex')}`;
  const shard = shardOfWallet(walletId);
  const reserved = await state.reserve({ shard, noteId, walletId, amountNusd: nusd, balanceNusd, alone });
  if (reserved.result === 'busy')
    throw new ServiceError('conflict', { message: 'Requests of this wallet are not booked yet.', retryAfterS: 2 });
  if (reserved.result === 'insufficient')
    throw new ServiceError('insufficient_balance', { message: 'Running requests hold a part of the balance.' });
  if (reserved.epoch !== taken.epoch) throw new ServiceError('service_unavailable');
  const creditsNusd = creditNusd * BigInt(count);
  const { keyId } = lot;
  const reference = `credits:${lotId(lot)}`;
  const after =
    nusd === 0n
      ? account
      : await takeCreditsWithin(client, account, {
          accountId,
          reference,
          keyId,
          creditsNusd,
          roundedNusd: nusd - creditsNusd,
        });
  await client.query(
    'insert into credit_issuances (id, account_id, key_id, count, created_at) values ($1, $2, $3, $4, $5)',
    [lotId(lot), accountId, keyId, count, new Date(now())],
  );
  await client.query(
    `insert into credit_keys (key_id, issued) values ($1, $2)
     on conflict (key_id) do update set issued = credit_keys.issued + excluded.issued`,
    [keyId, count],
  );
  return { after, noteId };
}

/** Writes the new balance and ends the reservation, in one step. If the state is unavailable, `endReservations` does it. */
async function tellState({ state }: LotDependencies, { after, noteId }: Moved): Promise<void> {
  await state.book(booked(after, noteId)).catch(unlessUnavailable);
}

const booked = ({ walletId, balanceNusd, version }: CreditedBalance, noteId: string) => ({
  wallet: { shard: shardOfWallet(walletId), walletId, balanceNusd, version },
  ...{ keys: [], budgets: [], holdIds: [noteId] },
});

/**
 * Ends reservations whose transaction is over, because control died or lost an answer. The transaction held the account's lock from before
 * it reserved, so once this has the lock, it has committed or never will, and the balance here says which.
 */
export async function endReservations({ pool, state, now }: LotDependencies): Promise<void> {
  const failure = await forEachReachable(shards, async (shard) => {
    for (const noteId of await state.readNotes(shard)) {
      const [, walletId, at] = /^reservation:([0-9a-f]+):(\d+):/.exec(noteId) ?? [];
      if (walletId === undefined || now() - Number(at) < reservedMs) continue;
      await inTransaction(pool, async (client) => {
        const { rows } = await client.query<{ id: string }>('select id from accounts where wallet_id = $1', [walletId]);
        // Postgres may be older than the state, if it was restored from a backup.
        const account = rows[0] && (await lockAccount(client, rows[0].id));
        if (account !== undefined) await state.book(booked(account, noteId));
      });
    }
  });
  if (failure !== undefined) throw failure;
}
