// Longer than 400 lines: the whole contract of the shared state, which Redis and memory both fulfil.

import type { Nusd, Spendable } from '@sotto/money';
import type { MeasurementBatch, Penalties, Penalty, RegistryPublic } from '@sotto/router';
import type { Preferences } from '@sotto/wire';
import type { RefusingBudget } from './budgets.ts';
import type { Signed } from './envelopes/sealing.ts';
import type { TicketForm } from './envelopes/ticket.ts';
import type { Caller, Membership } from './membership/membership.ts';
import type { CatalogSnapshot, KeyPart, KeyRecord, SettlementEntry } from './records.ts';

/** Usage and limits of a key in its current minute. Durations in ms. */
export interface RateStatus {
  readonly limitRequests: number;
  readonly remainingRequests: number;
  readonly limitTokens: number;
  readonly remainingTokens: number;
  readonly resetMs: number;
}

/** A key's record, with the generation that a redeem must match. */
export interface VersionedKey {
  readonly record: KeyRecord;
  /**
   * Changes with the key and with its workspace's preferences. It looks random, so that it tells a broker nothing that two keys share.
   */
  readonly generation: string;
  readonly shard: number;
  /** The hash that names the key, if it is not that of the secret that was looked up. */
  readonly keyHash?: string | undefined;
}

/** The right of a request: a ticket, or in compatibility mode the key itself. */
export type Right =
  | { readonly kind: 'ticket'; readonly ticketHash: string }
  /** `secretHash` is of the secret that was shown. Default: `keyHash`, because the key is named by its first secret. */
  | { readonly kind: 'key'; readonly keyHash: string; readonly secretHash?: string | undefined };

/** A right and its shard. */
export interface RightToCheck {
  readonly shard: number;
  readonly right: Right;
  /** The generation of the plan: of the key's record, or of the ticket. Undefined: the ticket's mark has it. */
  readonly generation?: string | undefined;
}

export interface RedeemRequest extends RightToCheck {
  /** Random id that the broker chooses, so that repeating a redeem is harmless. */
  readonly holdId: string;
  readonly amountNusd: Nusd;
  /** Tokens that count against the rate limit until the settlement has the real number. */
  readonly estimatedTokens: number;
  /** For free requests, which need no balance. */
  readonly free?: boolean;
}

export type RedeemReply =
  /** The hold counts in this month's budgets: UTC, `YYYY-MM`. */
  | { readonly result: 'admitted'; readonly month: string; readonly rate: RateStatus }
  /** The ticket is unknown or used, or its key or preferences have changed. */
  | { readonly result: 'invalid_ticket' }
  | { readonly result: 'unknown_key' }
  /** The key record has changed since the plan. Plan again with this one. */
  | { readonly result: 'stale_key'; readonly key: VersionedKey }
  | { readonly result: 'rate_limited'; readonly by: 'requests' | 'tokens'; readonly rate: RateStatus }
  | { readonly result: 'insufficient'; readonly scope: 'wallet' | 'key'; readonly rate: RateStatus }
  | {
      readonly result: 'insufficient';
      readonly scope: 'budget';
      readonly budget: RefusingBudget;
      readonly rate: RateStatus;
    }
  /** This hold was cancelled or settled before the redeem arrived. */
  | { readonly result: 'closed' };

export interface SettleRequest {
  readonly shard: number;
  readonly holdId: string;
  /** 0 releases the whole hold. */
  readonly chargeNusd: Nusd;
  readonly usedTokens: number;
  /** The settlement for the ledger. Undefined: nothing to book. */
  readonly entry: Signed | undefined;
}

/** A place in a shard's stream of settlements. Places of different epochs are not comparable, because a stream may restart. */
export interface StreamPlace {
  readonly streamId: string;
  readonly epoch: number;
}

/**
 * A broker's operations on money and rights. A call fails only with `StateUnavailableError`. An amount or count out of bounds is a
 * bug of the caller and throws a `RangeError`.
 */
export interface AdmissionPort {
  /** Returns the record of the key with this secret. Undefined if no key has it now, or the key is inactive or has expired. */
  lookupKey(secretHash: string): Promise<VersionedKey | undefined>;
  /** Returns the rate limits of a right that can be redeemed now, else undefined. Changes nothing. */
  peek(right: RightToCheck): Promise<RateStatus | undefined>;
  /** Uses the right and places the hold, both or neither. */
  redeem(request: RedeemRequest): Promise<RedeemReply>;
  /** Undoes a redeem whose reply was lost, even one that arrives later. Releases the money and makes the ticket valid again. */
  cancel(shard: number, holdId: string): Promise<void>;
  /** Returns the ids of the holds of the caller's incarnation in a shard. */
  readOwnHolds(shard: number): Promise<string[]>;
  /** Ends a hold, if it still exists, and writes the settlement for the ledger. Returns the entry's place, if any. */
  settle(request: SettleRequest): Promise<StreamPlace | undefined>;
  /** Returns the place up to which a shard's settlements are booked. */
  watermark(shard: number): Promise<StreamPlace>;
}

/** A caller's declaration. Only control can decrypt the owners in it. */
export interface Declared extends Signed {
  readonly client: string;
}

export interface JoinRequest {
  /**
   * The caller's holds in this shard. Undefined: none. `renewal`: only renews the lease of a caller that has joined, because a
   * declaration may have many megabytes and leases are renewed every second.
   */
  readonly declaration: Signed | 'renewal' | undefined;
  readonly leaseMs: number;
}

export type JoinReply =
  | { readonly result: 'joined'; readonly isOpen: boolean; readonly leaseUntil: number }
  /** Control will restore the declaration. Then the caller has joined. */
  | { readonly result: 'declared'; readonly isOpen: boolean };

/**
 * A process' membership of the shards. A process joins each epoch of each shard and renews its lease. Otherwise its steps are
 * refused with `StateUnavailableError`. See docs/decisions/shared-state.md.
 */
export interface MembershipPort {
  readonly membership: Membership;
  /** Joins a shard, or renews the lease in it. */
  join(shard: number, request: JoinRequest): Promise<JoinReply>;
  /** Leaves. Releases the caller's holds, and rebuilds no longer wait for it. */
  leave(shard: number): Promise<void>;
}

/** A declared amount of one request, attributed by control. */
export interface RestoredAmount {
  readonly holdId: string;
  readonly walletId: string;
  readonly keyHash: string;
  readonly amountNusd: Nusd;
  /** The month in whose budgets it counts. Undefined: the present one. */
  readonly month?: string | undefined;
  /** The budgets in which it counts. */
  readonly budgetIds: readonly string[];
}

/** A client's declaration, attributed by control. A charge has the settlement for the ledger. */
export interface RestoredDeclaration {
  readonly leaseMs: number;
  readonly holds: readonly RestoredAmount[];
  readonly charges: readonly (RestoredAmount & { readonly entry: Signed })[];
}

export interface ShardMembers {
  /** Undefined: the shard is new or has lost data. */
  readonly epoch: number | undefined;
  readonly isOpen: boolean;
  /** Clients that joined the epoch and were not reaped. */
  readonly clients: readonly string[];
  /** Clients that left or were reaped in the last day. */
  readonly gone: readonly string[];
  readonly declared: readonly Declared[];
}

/** Control's operations on epochs: begin one, restore the holds of running processes, and open it. */
export interface EpochPort {
  readMembers(shard: number): Promise<ShardMembers>;
  /** Begins an epoch if the shard has none, and removes holds and notes. Returns false if it has one. */
  beginEpoch(shard: number, epoch: number): Promise<boolean>;
  /** Restores a client's declaration in the caller's epoch and admits the client, once. Returns false if it was admitted already. */
  admitDeclared(shard: number, client: string, restored: RestoredDeclaration): Promise<boolean>;
  /** Opens the caller's epoch. From now on, money moves. */
  openEpoch(shard: number): Promise<void>;
  /** Ends an epoch that is older than a known one. */
  discardEpoch(shard: number, epoch: number): Promise<boolean>;
  /** Whether every shard's epoch is open. */
  isOpen(): Promise<boolean>;
  /** Releases the holds of clients whose lease lapsed longer than the grace period ago. Returns the number of holds. */
  reap(shard: number, graceMs: number): Promise<number>;
}

export interface WalletFunds {
  readonly shard: number;
  readonly walletId: string;
  readonly balanceNusd: Nusd;
  readonly version: number;
}

/**
 * A secret of a key that was rotated. The key keeps the name that its first secret gave it, so holds, notes, tickets, limits, bookings
 * and restored declarations need no alias, also after that secret has ended. Which secrets open the key, its own record says in the
 * step that places the hold, by the clock of Redis. The index and a broker's cache only find the key, so what they still have of an
 * ended secret opens nothing. A rotation raises the generation: the later of a rotation and a revocation wins, in whatever order
 * their projections arrive.
 */
export interface KeySecret {
  readonly secretHash: string;
  /** Unix ms. Undefined: the newest secret, which has no end. */
  readonly endsAt: number | undefined;
}

/** A key that requests may use, until it expires. */
export interface KeyProjection {
  readonly shard: number;
  /** The hash of the key's first secret. It names the key for good: its holds, limits and spending. */
  readonly keyHash: string;
  readonly walletId: string;
  /** The workspace whose preferences apply (`workspaceIdOf`), and their version. Its record is on the same shard. */
  readonly workspace: Pick<WorkspaceProjection, 'workspaceId' | 'version'>;
  readonly generation: number;
  /** Unix ms. Undefined: it does not expire. */
  readonly expiresAt?: number | undefined;
  /** The secrets that open the key. Undefined: only the first one, because the key was never rotated. */
  readonly secrets?: readonly KeySecret[] | undefined;
  readonly record: KeyPart;
  /** Undefined: no credit limit. */
  readonly limitFundsNusd: Nusd | undefined;
  readonly fundsVersion: number;
  readonly limitRequests: number;
  readonly limitTokens: number;
  /** The budgets in which the key's requests count, whether or not they exist: `budgetIdOf`. */
  readonly budgetIds: readonly string[];
}

/** Whether the removal of a record is news, so that an older projection may still arrive, which must not bring it back. */
interface Removal {
  readonly isNews: boolean;
}

/** A key that no request may use: revoked, disabled or expired. */
export type RemovedKey = Pick<KeyProjection, 'shard' | 'keyHash' | 'generation' | 'secrets'> & Removal;

/** The preferences that all keys of a workspace share. */
export interface WorkspaceProjection {
  readonly shard: number;
  readonly workspaceId: string;
  readonly version: number;
  /**
   * The oldest version whose tickets are still valid: since then, the preferences have only become looser. Default: the version, so that
   * older tickets are void.
   */
  readonly ticketsSince?: number;
  /** Undefined: they are unreadable, which permits nothing. */
  readonly preferences: Preferences | undefined;
}

export interface MonthSpend {
  /** UTC, `YYYY-MM`. */
  readonly month: string;
  /** What the ledger booked of the month's requests. It never falls. */
  readonly spentNusd: Nusd;
}

export interface BudgetProjection {
  readonly shard: number;
  readonly budgetId: string;
  readonly limitNusd: Nusd;
  /** Version of the limit. */
  readonly version: number;
  /** Spending of months before this one is forgotten. */
  readonly keptSince: string;
  readonly spent: readonly MonthSpend[];
}

/** A budget that limits nothing any more. */
export type RemovedBudget = Pick<BudgetProjection, 'shard' | 'budgetId' | 'version'> & Removal;

export interface BookedCharges {
  readonly wallet: WalletFunds;
  readonly keys: readonly {
    readonly keyHash: string;
    readonly limitFundsNusd: Nusd | undefined;
    readonly version: number;
  }[];
  readonly budgets: readonly (MonthSpend & { readonly budgetId: string })[];
  readonly holdIds: readonly string[];
}

export type MintReply =
  | { readonly result: 'minted' }
  | { readonly result: 'insufficient'; readonly availableNusd: Nusd }
  | { readonly result: 'over_budget'; readonly budget: RefusingBudget }
  | { readonly result: 'not_projected' };

export interface MintRequest {
  readonly shard: number;
  /** Of the tickets to mint: all or none. */
  readonly ticketHashes: readonly string[];
  readonly walletId: string;
  readonly keyHash: string;
  /** Of the secret that was shown. Undefined: none was, or the caller has checked it. */
  readonly secretHash?: string | undefined;
  /**
   * The generation (`generationOf`) when the ticket was sealed. Key and preferences must be projected with it, and the key open, or
   * brokers refuse the ticket.
   */
  readonly generation: string;
  /** Form of the ticket. In the first form the ticket has the generation, in the second the mark has it. */
  readonly form: TicketForm;
  readonly ttlMs: number;
  /** For free requests, which need no balance. */
  readonly free?: boolean;
}

export interface ReserveRequest {
  readonly shard: number;
  /** Names the note. It contains no space. */
  readonly noteId: string;
  readonly walletId: string;
  readonly amountNusd: Nusd;
  /** The balance in the ledger. The state may not have a lower one yet. */
  readonly balanceNusd: Nusd;
  /** Whether nothing else of the wallet may be held or unbooked. */
  readonly alone: boolean;
}

export type ReserveReply =
  /** The money is set aside, in this epoch of the shard. */
  | { readonly result: 'reserved'; readonly epoch: number }
  | { readonly result: 'insufficient' }
  /** Something is held or unbooked. */
  | { readonly result: 'busy' };

/** A member that read a stream: its incarnation and epoch. */
export type SettlementReader = Pick<Caller, 'client' | 'epoch'>;

export interface TakenSettlements {
  readonly entries: readonly SettlementEntry[];
  readonly reader: SettlementReader;
}

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
  /** Returns the hold ids of the notes of unbooked charges. */
  readNotes(shard: number): Promise<string[]>;
  /** Returns wallets and keys at one instant, with the sums of their holds and notes. Unknown ones are omitted. */
  readBooks(shard: number, wanted: WantedBooks): Promise<ShardBooks>;
}

export interface WantedBooks {
  readonly walletIds: readonly string[];
  readonly keyHashes: readonly string[];
  readonly budgetIds: readonly string[];
}

/** A wallet or key with its stored sums, and the same sums recomputed from holds and notes. */
export interface AuditedFunds extends Spendable {
  readonly holdsNusd: Nusd;
  readonly notesNusd: Nusd;
}

/** A budget with its stored sums of each month, and `open` recomputed from what counts in it. */
export interface AuditedBudget {
  readonly limitNusd: Nusd;
  readonly version: number;
  readonly months: ReadonlyMap<
    string,
    { readonly spentNusd: Nusd; readonly openNusd: Nusd; readonly countedNusd: Nusd }
  >;
}

export interface ShardBooks {
  readonly wallets: ReadonlyMap<string, AuditedFunds>;
  readonly keys: ReadonlyMap<string, AuditedFunds>;
  readonly budgets: ReadonlyMap<string, AuditedBudget>;
}

/** Catalog, registry and route health: small, shared data that no request waits for. */
export interface CatalogPort {
  /** Publishes a snapshot unless the state has a newer one. */
  publishCatalog(snapshot: CatalogSnapshot): Promise<void>;
  /** Returns the snapshot if it is newer than `knownVersion`, else undefined. */
  readCatalog(knownVersion: number): Promise<CatalogSnapshot | undefined>;
  publishRegistry(registry: RegistryPublic): Promise<void>;
  readRegistry(): Promise<RegistryPublic | undefined>;
}

export interface HealthPort {
  readPenalties(): Promise<Penalties>;
  /** Replaces the penalty of a key by `next` of the current one. */
  updatePenalty(key: string, next: (current: Penalty | undefined) => Penalty): Promise<void>;
  /** Replaces the records of a source, so that sending them again changes nothing. */
  shareMeasurements(batch: MeasurementBatch): Promise<void>;
  /**
   * Returns the records of an hour (Unix hours) that changed since the page with this cursor, from all sources. Read on until
   * `isLast`. An hour keeps `maxMeasurementRecords`; further records are dropped.
   */
  readMeasurements(hour: number, cursor: string | undefined): Promise<MeasurementPage>;
}

export interface MeasurementPage {
  readonly records: readonly { readonly source: string; readonly routeId: string; readonly record: string }[];
  readonly cursor: string;
  readonly isLast: boolean;
}

export type ReceiptKind = 'provider' | 'gateway';

/**
 * Receipts that clients can fetch for a while after a request: hashes, signatures and ids, never content or identity. A receipt is
 * encrypted with its secret, and its id is the hash of that secret (`sealReceipt`, `receiptIdOf`).
 */
export interface ReceiptPort {
  /** Stores a document of at most 32,768 characters for `ttlMs`. Replaces an earlier one with the same id. */
  keepReceipt(kind: ReceiptKind, id: string, document: string, ttlMs: number): Promise<void>;
  /** Returns the document. Undefined if there is none or it has expired. */
  readReceipt(kind: ReceiptKind, id: string): Promise<string | undefined>;
}

/** Whether the state is available and has control's projection. */
export interface ReadinessPort {
  isReady(): Promise<boolean>;
  close(): Promise<void>;
}

export interface MemoryUse {
  readonly usedBytes: number;
  /** At this size, the store refuses writes that need memory. */
  readonly limitBytes: number;
}

/** How full the store is. */
export interface CapacityPort {
  /** Returns the memory of the store's fullest server. Undefined if it is unknown, or this process's own. */
  readMemory(): Promise<MemoryUse | undefined>;
}

/** A broker's view of the state, without data that only control may know, such as the owner of a hold or key. */
export type BrokerState = AdmissionPort &
  MembershipPort &
  Pick<CatalogPort, 'readCatalog' | 'publishRegistry' | 'readRegistry'> &
  HealthPort &
  ReceiptPort &
  ReadinessPort;

export type State = CapacityPort &
  AdmissionPort &
  MembershipPort &
  EpochPort &
  ProjectionPort &
  CatalogPort &
  HealthPort &
  ReceiptPort &
  ReadinessPort;
