import { createHash, hash, randomBytes, randomInt, randomUUID } from 'node:crypto';
import { chmodSync, closeSync, openSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { type CreditIssuer, creditsPerBatch } from '@sotto/wire';
import { balanceOf, isLeft, tooFew } from './balance.ts';
import { addCredits, type BatchSecrets, newBatch, signBatch, type Timing } from './batches.ts';
import { CreditRefusal, type CreditService, PurseError, type WalletOrder } from './credit-service.ts';
import { PurseFile, type PurseWallet, type StoredWallet, usingFile } from './purse-file.ts';

export interface PurseOptions {
  readonly file: string;
  /** The user id of the process; undefined on Windows. */
  readonly userId: number | undefined;
  readonly now?: () => number;
  /** Returns a whole number from `least` to below `below`. */
  readonly random?: (least: number, below: number) => number;
  /** Waits for a time in ms. */
  readonly wait?: (ms: number) => Promise<unknown>;
}

/** How long a process that stopped renewing counts as alive. */
const leaseMs = 45_000;
const renewEveryMs = 10_000;
/** How long `settle` watches whether a lease that ran out is renewed after all. */
const watchMs = 15_000;

/**
 * Blind credits and the wallets that they pay for, in one SQLite file of mode 600. Every change commits before its request leaves, so a
 * process that dies loses nothing, and two processes never offer one credit.
 *
 * An open purse holds the wallets that it took, by a lease that it renews. Each change of a wallet is a transaction that checks the holder.
 * So a process that slept does nothing to a wallet that another one took over.
 *
 * Secrets are random, and are overwritten once they have
 * served: a copy of the file does not name the wallets of the past. The disk may, where the journal was.
 */
export class Purse {
  readonly #file: PurseFile;
  readonly #timing: Timing;
  readonly #wait: (ms: number) => Promise<unknown>;
  readonly #holder = randomUUID();
  readonly #renewal: NodeJS.Timeout;

  private constructor(file: PurseFile, { now = Date.now, random = randomInt, wait = setTimeout }: PurseOptions) {
    this.#file = file;
    this.#timing = { now, random };
    this.#wait = wait;
    this.#renewal = setInterval(() => this.renew(), renewEveryMs).unref();
  }

  /** Opens a purse, or makes an empty one. Refuses a file that other users can read or change. */
  static async open(options: PurseOptions): Promise<Purse> {
    const file = await PurseFile.open(options.file, options.userId);
    const purse = new Purse(file, options);
    file.change(() => {
      purse.#releaseLeft();
      // When credits have rested, nothing says any more when they were signed.
      file.run('update credits set ready_at = 0 where ready_at <= ?', purse.#timing.now());
    });
    return purse;
  }

  /** Ends the leases. */
  close(): void {
    clearInterval(this.#renewal);
    this.#file.run(
      'update wallets set holder = null, lease_until = ? where holder = ?',
      this.#timing.now(),
      this.#holder,
    );
    this.#file.close();
  }

  /** Renews the leases of the wallets that this purse holds. An open purse does so by itself. */
  renew(): void {
    try {
      this.#file.run('update wallets set lease_until = ? where holder = ?', this.#leaseUntil, this.#holder);
    } catch {
      // Another process keeps the file locked. The next renewal is soon enough.
    }
  }

  /** What is in the purse, and what its wallets took. */
  balance(): ReturnType<typeof balanceOf> {
    return balanceOf(this.#file, this.#timing.now());
  }

  /** Makes a wallet for a payment. It is stored before it is ordered. */
  newOrder(packageId: string): number {
    return this.#addWallet('ordered', packageId).id;
  }

  /** Orders a wallet, or asks for its order again. Undefined: it is paid, and its key works. */
  async order(service: CreditService, id: number): Promise<WalletOrder | undefined> {
    const wallet = this.#held(id);
    let order: WalletOrder | undefined;
    try {
      order = await service.order({ ...hashesOf(wallet), package_id: wallet.package_id });
    } catch (error) {
      // The service has not said yet where to pay.
      if (error instanceof CreditRefusal && !error.isPassing)
        this.#file.run('delete from wallets where id = ? and ends_at is null and holder = ?', id, this.#holder);
      throw error;
    }
    return this.#change(id, (known) => this.#note(known, order));
  }

  #note({ id, ends_at }: StoredWallet, order: WalletOrder | undefined): WalletOrder | undefined {
    const endsAt = order === undefined ? null : Date.parse(order.expires_at);
    // Another order under these hashes: the service has deleted the first one, as unpaid. An expired one may still be paid: a late payment
    // takes days to confirm while blocks are full.
    if (endsAt !== null && ends_at !== null && endsAt !== ends_at)
      this.#file.run('delete from wallets where id = ?', id);
    else if (order === undefined)
      this.#file.run("update wallets set state = 'paid', holder = null where id = ? and state = 'ordered'", id);
    else this.#file.run('update wallets set ends_at = ? where id = ?', endsAt, id);
    return order;
  }

  /**
   * Takes a paid wallet, or 50 rested credits for a new one: of the oldest key that has enough, at random, so that one batch never goes alone
   * by choice. A mixture of keys tells that one person has both, so it is made only if no key has enough.
   */
  takeWallet(): PurseWallet {
    return this.#file.change(() => {
      const [paid] = this.#file.read<PurseWallet>(
        "update wallets set state = 'taken', holder = ?, lease_until = ? where id = (select min(id) from wallets where state = 'paid') returning id, key",
        this.#holder,
        this.#leaseUntil,
      );
      if (paid !== undefined) return paid;
      const ready = 'wallet is null and aside = 0 and ready_at <= ?';
      const [key] = this.#file.read<{ key_id: string }>(
        `select key_id from credits where ${ready} group by key_id having count(*) >= ${creditsPerBatch} order by year limit 1`,
        this.#timing.now(),
      );
      const chosen = this.#file.read<{ nonce: Uint8Array }>(
        `select nonce from credits where ${ready} and key_id = coalesce(?, key_id) order by year, random() limit ${creditsPerBatch}`,
        this.#timing.now(),
        key?.key_id ?? null,
      );
      if (chosen.length < creditsPerBatch) throw new PurseError(tooFew(this.balance()));
      const wallet = this.#addWallet('taken', null);
      for (const { nonce } of chosen) this.#file.run('update credits set wallet = ? where nonce = ?', wallet.id, nonce);
      return wallet;
    });
  }

  /** Gives a wallet back that was never used, or its credits if they were never offered. Not if another process took it over. */
  release(walletId: number): void {
    this.#file.change(() => this.#release(walletId, this.#holder));
  }

  #release(id: number, holder: string | null): void {
    const own = "id = ? and holder is ? and state = 'taken'";
    this.#file.run(
      `update wallets set state = 'paid', holder = null where ${own} and package_id is not null`,
      id,
      holder,
    );
    if (this.#file.run(`delete from wallets where ${own}`, id, holder) === 1)
      this.#file.run('update credits set wallet = null where wallet = ?', id);
  }

  /** Deposits the credits of a wallet, unless it is paid already. Afterwards its key works. */
  async deposit(service: CreditService, { id }: Pick<PurseWallet, 'id'>): Promise<void> {
    const { credits, ...wallet } = this.#change(id, (wallet) => {
      const state = wallet.package_id === null ? 'offered' : 'open';
      this.#file.run('update wallets set state = ? where id = ?', state, id);
      const credits = this.#file.read<{ nonce: Uint8Array; token: Uint8Array }>(
        'select * from credits where wallet = ? order by nonce',
        id,
      );
      return { ...wallet, credits };
    });
    if (wallet.package_id !== null) return;
    try {
      await service.deposit({
        ...hashesOf(wallet),
        credits: credits.map(({ token }) => Buffer.from(token).toString('base64url')),
      });
    } catch (error) {
      if (!(error instanceof CreditRefusal) || error.isPassing) throw error;
      const isSpent = error.type === 'credits_spent';
      const spent = isSpent ? error.param.split(',').flatMap((at) => credits[Number(at)] ?? []) : [];
      this.#change(id, () => {
        for (const { nonce } of spent) this.#file.run('delete from credits where nonce = ?', nonce);
        this.#file.run('update credits set wallet = null, aside = 1 where wallet = ?', id);
        this.#file.run('delete from wallets where id = ?', id);
      });
      const why = isSpent
        ? `The service says that ${spent.length} of these credits were spent before, perhaps from a copy of this purse.`
        : `The service refused the deposit: ${error.message}`;
      throw new PurseError(
        `${why} Nothing was deposited. The other ${credits.length - spent.length} are set aside, because the service has seen them together: using them links both deposits. \`sotto purse reuse\` accepts that.`,
      );
    }
    this.#change(id, () => {
      this.#file.run("update wallets set state = 'open' where id = ?", id);
      this.#file.run('delete from credits where wallet = ?', id);
    });
  }

  /** Makes credits usable again that were set aside. Returns their number. */
  reuse(): number {
    return Number(this.#file.run('update credits set aside = 0 where aside = 1'));
  }

  /**
   * Closes a wallet. What is left becomes new credits, which rest, batch by batch. Returns their number. Throws a passing `CreditRefusal` while
   * requests are not booked. If another process takes the wallet over meanwhile, that one stores the credits, which it asks for by the same batch.
   */
  async closeWallet(service: CreditService, issuer: CreditIssuer, walletId: number): Promise<number> {
    for (let back = 0; ; ) {
      const { close_secret, ...batch } = this.#change(walletId, ({ close_secret }) => {
        const [known] = this.#file.read<BatchSecrets>('select secrets, spki from batches where wallet = ?', walletId);
        const { secrets, spki } = known ?? newBatch(issuer, this.#timing.now());
        this.#file.run(
          'insert or ignore into batches (wallet, secrets, spki) values (?, ?, ?)',
          walletId,
          secrets,
          spki,
        );
        return { close_secret, secrets, spki };
      });
      const end = (isLast: boolean): void => {
        this.#file.run('delete from batches where wallet = ?', walletId);
        if (isLast) this.#file.run('delete from wallets where id = ?', walletId);
      };
      const payment = { path: '/v1/wallets/close', proof: { close_secret }, atLeast: 0 } as const;
      try {
        const { credits, more } = await signBatch(service, issuer, { ...batch, ...payment });
        this.#change(walletId, () => {
          addCredits(this.#file, credits, this.#timing);
          end(!more);
        });
        back += credits.length;
        if (!more) return back;
      } catch (error) {
        // The batch is kept, unless its key is out of date, or a copy of this purse has closed the wallet with its own.
        if (error instanceof CreditRefusal && !error.isPassing && ['invalid_request', 'conflict'].includes(error.type))
          this.#change(walletId, () => end(error.type === 'conflict'));
        throw error;
      }
    }
  }

  /**
   * Finishes what an ended process left: an order or a deposit of unknown outcome, or an open wallet. Only one for each call, because the
   * service could link what it is asked within minutes: the one that was tried longest ago. Calls `onUnpaid` if it is an order that is not
   * paid. Throws if it failed.
   */
  async settle(service: CreditService, issuer: CreditIssuer, onUnpaid: (order: WalletOrder) => void): Promise<void> {
    // The service has not said where to pay them.
    this.#file.run(`delete from wallets where state = 'ordered' and ends_at is null and ${isLeft}`, this.#timing.now());
    const wallet = await this.#takeOver();
    if (wallet === undefined) return;
    const { id, state } = wallet;
    try {
      if (state === 'ordered') {
        const order = await this.order(service, id);
        if (order !== undefined) onUnpaid(order);
        return;
      }
      if (state === 'offered') await this.deposit(service, wallet);
      await this.closeWallet(service, issuer, id);
    } finally {
      const end = 'update wallets set holder = null, lease_until = ? where id = ? and holder = ?';
      this.#file.run(end, this.#timing.now(), id, this.#holder);
    }
  }

  /**
   * Takes over a wallet that an ended process left. A lease also runs out while its owner sleeps with the machine, or when the clock leaps.
   * So this waits for the time in which its owner would renew it.
   */
  async #takeOver(): Promise<StoredWallet | undefined> {
    const left = this.#file.read<StoredWallet>(
      `select * from wallets where state in ('ordered', 'offered', 'open') and ${isLeft} order by lease_until, id`,
      this.#timing.now(),
    );
    if (left.some(({ holder }) => holder !== null)) await this.#wait(watchMs);
    for (const { id, holder, lease_until: leaseUntil } of left) {
      const [taken] = this.#file.read<StoredWallet>(
        'update wallets set holder = ?, lease_until = ? where id = ? and holder is ? and lease_until = ? returning *',
        ...[this.#holder, this.#leaseUntil, id, holder, leaseUntil],
      );
      if (taken !== undefined) return taken;
    }
    return undefined;
  }

  /** Writes a copy to a new file. Credits that are spent later are spent in the copy, too. */
  backUp(file: string): void {
    usingFile(file, () => {
      closeSync(openSync(file, 'wx', 0o600));
      this.#file.run('vacuum into ?', file);
      chmodSync(file, 0o600);
    });
  }

  /** Gives back what processes took that ended before they used it. */
  #releaseLeft(): void {
    const taken = this.#file.read<StoredWallet>(
      `select * from wallets where state = 'taken' and ${isLeft}`,
      this.#timing.now(),
    );
    for (const { id, holder } of taken) this.#release(id, holder);
  }

  #addWallet(state: 'ordered' | 'taken', packageId: string | null): PurseWallet {
    const [made] = this.#file.read<PurseWallet>(
      'insert into wallets (key, close_secret, state, package_id, holder, lease_until) values (?, ?, ?, ?, ?, ?) returning id, key',
      ...[newKey(), randomBytes(32).toString('base64url'), state, packageId, this.#holder, this.#leaseUntil],
    );
    if (made === undefined) throw new Error('the wallet was not stored');
    return made;
  }

  get #leaseUntil(): number {
    return this.#timing.now() + leaseMs;
  }

  /** Changes a wallet in one transaction. Throws if another process took it over. */
  #change<T>(id: number, work: (wallet: StoredWallet) => T): T {
    return this.#file.change(() => work(this.#held(id)));
  }

  #held(id: number): StoredWallet {
    const [wallet] = this.#file.read<StoredWallet>(
      'select * from wallets where id = ? and holder = ?',
      id,
      this.#holder,
    );
    if (wallet === undefined)
      throw new PurseError(
        `Another command took this wallet over, because this one slept or stood still for more than ${leaseMs / 1000} s. What is left of the wallet comes back to the purse.`,
      );
    return wallet;
  }
}

const hashesOf = ({ key, close_secret }: StoredWallet) => ({
  key_hash: hash('sha256', key, 'base64url'),
  close_hash: hash('sha256', close_secret, 'base64url'),
});

/** An inference key, in the form that the service's own have: prefix, 32 random bytes, checksum. */
function newKey(): string {
  const body = `sotto_inf_${randomBytes(32).toString('base64url')}`;
  return body + createHash('sha256').update(`sotto key checksum ${body}`).digest('base64url').slice(0, 6);
}
