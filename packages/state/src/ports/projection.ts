import type { Spendable } from '@sotto/money';
import type { SettlementEntry } from '../records.ts';
import type { ShardBooks, WantedBooks } from './books.ts';
import type {
  BudgetProjection,
  KeyProjection,
  RemovedBudget,
  RemovedKey,
  WalletFunds,
  WorkspaceProjection,
} from './projected-records.ts';
import type { RefusalCounts } from './refusals.ts';
import type { ReserveReply, ReserveRequest } from './reservations.ts';
import type { BookedCharges, SettlementReader, TakenSettlements } from './settlements.ts';
import type { MintReply, MintRequest } from './tickets.ts';
import type { StateWatch } from './watch.ts';

/** Control's projection of Postgres into the state, and its reads of the state. */
export interface ProjectionPort {
  putWallet(funds: WalletFunds): Promise<void>;
  /**
   * Writes a key's record and its index. Resolves to whether its workspace's record lacks the preferences of this version. Then call
   * `putWorkspace` with preferences that were read after this.
   */
  putKey(key: KeyProjection): Promise<boolean>;
  /**
   * Removes a key's record, which works in a Redis that is out of memory. Its amounts stay while holds or notes count in them. The
   * workspace's preferences go with its last key.
   */
  removeKey(key: RemovedKey): Promise<void>;
  /** Replaces the preferences of all keys of a workspace at once. Of a workspace that no key names, only the version is kept for a while. */
  putWorkspace(workspace: WorkspaceProjection): Promise<void>;
  /** Removes a budget's record. If it is set again, `putBudget` counts everything anew. */
  removeBudget(budget: RemovedBudget): Promise<void>;
  /**
   * Writes a newer limit, which then covers everything that is held and unbooked, and larger sums of spending. Call it after the
   * commit of the limit, which must wait for bookings of the account.
   */
  putBudget(budget: BudgetProjection): Promise<void>;
  /**
   * Writes only the index of a key’s secrets, which `putKey` also writes. The index may be in other shards than the key, and a
   * rebuilt shard has lost it. The index of a secret that has ended may stay, because the key’s own record decides.
   */
  indexKey(key: Pick<KeyProjection, 'keyHash' | 'shard' | 'secrets'>): Promise<void>;
  mint(request: MintRequest): Promise<MintReply>;
  /** Returns the funds of a wallet as admissions see them. Undefined if it is not projected. */
  readWallet(shard: number, walletId: string): Promise<Omit<Spendable, 'version'> | undefined>;
  readSettlements(shard: number, afterId: string, limit: number): Promise<SettlementEntry[]>;
  /**
   * Reads settlements as a step. A shard that has lost one of them since has lost this step, too, so it refuses what the reader does
   * next. Resolves to the entries and to who read them, for `acknowledge`.
   */
  takeSettlements(shard: number, afterId: string, limit: number): Promise<TakenSettlements>;
  /**
   * Calls `wake` when a settlement comes into an empty stream of any shard. A reader that found settlements reads again until it finds
   * none, because nothing announces the others. An announcement may be lost, so the reader also looks from time to time.
   */
  watchSettlements(wake: () => void): StateWatch;
  /** Removes the notes of booked charges, and sets newer balances, limits and spending. */
  book(charges: BookedCharges): Promise<void>;
  /**
   * Sets money aside that is about to leave a wallet without a request. It counts as an unbooked charge until `book` or `forget` ends
   * it. The caller holds the account's lock.
   */
  reserve(request: ReserveRequest): Promise<ReserveReply>;
  /** Removes the notes of charges without a known account, which returns the money to their wallets. */
  forget(shard: number, holdIds: readonly string[]): Promise<void>;
  /**
   * Moves the watermark to this entry and trims the stream below it, because everything up to it is booked. Throws
   * `StateUnavailableError` if the caller is not the reader any more: the stream may be another.
   */
  acknowledge(shard: number, streamId: string, reader: SettlementReader): Promise<void>;
  /** Returns the counts of refusals of a shard from an hour on, at most of the last 26 hours. The shard need not be open. */
  readRefusals(shard: number, fromHour: number): Promise<RefusalCounts>;
  /** Returns the hold ids of the notes of unbooked charges. */
  readNotes(shard: number): Promise<string[]>;
  /** Returns wallets and keys at one instant, with the sums of their holds and notes. Unknown ones are omitted. */
  readBooks(shard: number, wanted: WantedBooks): Promise<ShardBooks>;
}
