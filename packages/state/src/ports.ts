import type { Nusd, Spendable } from '@sotto/money';
import type { MeasurementBatch, Penalties, Penalty, RegistryPublic } from '@sotto/router';
import type { TicketForm } from './envelopes/ticket.ts';
import type { Membership } from './membership/membership.ts';
import type { CatalogSnapshot, KeyRecord, SettlementEntry } from './records.ts';

/** How a key stands against its rate limits, in its current minute. Durations in ms. */
export interface RateStatus {
  readonly limitRequests: number;
  readonly remainingRequests: number;
  readonly limitTokens: number;
  readonly remainingTokens: number;
  readonly resetMs: number;
}

/** A key's record with the generation that a redeem is checked against. */
export interface VersionedKey {
  readonly record: KeyRecord;
  readonly generation: number;
  readonly shard: number;
}

/** The right that a request is redeemed for: a ticket, or in compatibility mode the key itself. */
export type Right =
  | { readonly kind: 'ticket'; readonly ticketHash: string }
  | { readonly kind: 'key'; readonly keyHash: string };

/** A right, and where it is. */
export interface RightToCheck {
  readonly shard: number;
  readonly right: Right;
  /** The key generation that the plan was made with; undefined: the ticket's mark says which it was minted at. */
  readonly generation?: number | undefined;
}

export interface RedeemRequest extends RightToCheck {
  /** Random, chosen by the broker: repeating a redeem with it is harmless. */
  readonly holdId: string;
  readonly amountNusd: Nusd;
  /** Tokens counted against the rate limit until the settlement says how many it were. */
  readonly estimatedTokens: number;
  /** For what costs nothing: no balance is asked for. */
  readonly free?: boolean;
}

export type RedeemReply =
  | { readonly result: 'admitted'; readonly rate: RateStatus }
  /** No such ticket, or used, or its key or preferences have changed since. */
  | { readonly result: 'invalid_ticket' }
  | { readonly result: 'unknown_key' }
  /** The key record has changed since the plan was made; plan again with this one. */
  | { readonly result: 'stale_key'; readonly key: VersionedKey }
  | { readonly result: 'rate_limited'; readonly by: 'requests' | 'tokens'; readonly rate: RateStatus }
  | { readonly result: 'insufficient'; readonly scope: 'wallet' | 'key'; readonly rate: RateStatus }
  /** This hold was cancelled or settled before the redeem arrived. */
  | { readonly result: 'closed' };

export interface SettleRequest {
  readonly shard: number;
  readonly holdId: string;
  /** 0: everything held is released. */
  readonly chargeNusd: Nusd;
  readonly usedTokens: number;
  /** What the ledger is told; undefined: nothing happened that it must know. */
  readonly entry: { readonly payload: string; readonly mac: string } | undefined;
}

/** A place in a shard's stream of settlements. Places of different epochs cannot be compared: a stream may begin anew. */
export interface StreamPlace {
  readonly streamId: string;
  readonly epoch: number;
}

/**
 * What a broker does with money and rights. Every call rejects with `StateUnavailableError` or answers; an amount or a
 * count out of bounds is the caller's defect, a `RangeError`.
 */
export interface AdmissionPort {
  /** The record of a key, or undefined where there is none or it was revoked. */
  lookupKey(keyHash: string): Promise<VersionedKey | undefined>;
  /** The rate limits of a right that could be redeemed now; undefined where it could not. Changes nothing. */
  peek(right: RightToCheck): Promise<RateStatus | undefined>;
  /** Takes the right and places the hold, all or nothing. */
  redeem(request: RedeemRequest): Promise<RedeemReply>;
  /** Undoes a redeem whose reply was lost, even one that has yet to arrive: the money is free and the ticket valid again. */
  cancel(shard: number, holdId: string): Promise<void>;
  /** The ids of the holds that the caller's own incarnation has in a shard. */
  readOwnHolds(shard: number): Promise<string[]>;
  /** Ends a hold and tells the ledger; where the hold is gone, only the ledger is told. Answers the entry's place, if any. */
  settle(request: SettleRequest): Promise<StreamPlace | undefined>;
  /** The place up to which a shard's settlements are booked. */
  watermark(shard: number): Promise<StreamPlace>;
}

/** What a caller holds, sealed so that only control can read whose it is and nobody else can have written it. */
export interface SealedDeclaration {
  readonly payload: string;
  readonly mac: string;
}
export interface Declared extends SealedDeclaration {
  readonly client: string;
}

export interface JoinRequest {
  /**
   * What the caller holds in this shard; undefined: nothing. `renewal`: it is in already, and only a caller that is in
   * has its lease renewed: what is held may come to many megabytes, and leases are renewed each second.
   */
  readonly declaration: SealedDeclaration | 'renewal' | undefined;
  readonly leaseMs: number;
}

export type JoinReply =
  | { readonly result: 'joined'; readonly isOpen: boolean; readonly leaseUntil: number }
  /** Control is to restore what was declared; the caller is in once it has. */
  | { readonly result: 'declared'; readonly isOpen: boolean };

/**
 * A process' place in the shards (design 5). It joins each epoch of each shard and renews its lease; a step of one that
 * has not is refused with `StateUnavailableError`.
 */
export interface MembershipPort {
  readonly membership: Membership;
  /** Joins a shard, or renews the lease in it. */
  join(shard: number, request: JoinRequest): Promise<JoinReply>;
  /** Goes: what is held is released, and nobody waits for the caller any more. */
  leave(shard: number): Promise<void>;
}

/** Money of one request that a caller declared, attributed by control; for a charge, with what the ledger is to be told. */
export interface RestoredAmount {
  readonly holdId: string;
  readonly walletId: string;
  readonly keyHash: string;
  readonly amountNusd: Nusd;
}
export interface RestoredCharge extends RestoredAmount {
  readonly entry: { readonly payload: string; readonly mac: string };
}

export interface ShardMembers {
  /** Undefined: the shard is new, or has lost something. */
  readonly epoch: number | undefined;
  readonly isOpen: boolean;
  /** Those who joined the epoch and whose lease was not reaped. */
  readonly clients: readonly string[];
  /** Those who left the epoch or were reaped in the last day. */
  readonly gone: readonly string[];
  readonly declared: readonly Declared[];
}

/** How control begins an epoch of a shard, restores what the living hold, and opens it. */
export interface EpochPort {
  readMembers(shard: number): Promise<ShardMembers>;
  /** Begins an epoch where the shard has none: holds and notes are taken off. False where it has one. */
  beginEpoch(shard: number, epoch: number): Promise<boolean>;
  /** Places what a client declared in the caller's epoch and lets it in; once. False where it was in already. */
  admitDeclared(
    shard: number,
    client: string,
    restored: {
      readonly leaseMs: number;
      readonly holds: readonly RestoredAmount[];
      readonly charges: readonly RestoredCharge[];
    },
  ): Promise<boolean>;
  /** Opens the caller's epoch: from now on money moves. */
  openEpoch(shard: number): Promise<void>;
  /** Ends an epoch that is known to be older than another. */
  discardEpoch(shard: number, epoch: number): Promise<boolean>;
  /** True where every shard's epoch is open. */
  isOpen(): Promise<boolean>;
  /** Releases the holds of clients whose lease lapsed longer than the grace ago; answers how many. */
  reap(shard: number, graceMs: number): Promise<number>;
}

export interface WalletFunds {
  readonly shard: number;
  readonly walletId: string;
  readonly balanceNusd: Nusd;
  readonly version: number;
}

export interface KeyProjection {
  readonly shard: number;
  readonly keyHash: string;
  readonly walletId: string;
  readonly generation: number;
  readonly active: boolean;
  readonly record: KeyRecord;
  /** Undefined: no credit limit. */
  readonly limitFundsNusd: Nusd | undefined;
  readonly fundsVersion: number;
  readonly limitRequests: number;
  readonly limitTokens: number;
}

export interface BookedCharges {
  readonly wallet: WalletFunds;
  readonly keys: readonly {
    readonly keyHash: string;
    readonly limitFundsNusd: Nusd | undefined;
    readonly version: number;
  }[];
  readonly holdIds: readonly string[];
}

export type MintReply =
  | { readonly result: 'minted' }
  | { readonly result: 'insufficient'; readonly availableNusd: Nusd }
  | { readonly result: 'not_projected' };

export interface MintRequest {
  readonly shard: number;
  readonly ticketHash: string;
  readonly walletId: string;
  readonly keyHash: string;
  /** Of the key, when the ticket was sealed: the key must be projected at it, or every broker would refuse the ticket. */
  readonly generation: number;
  /** Of the ticket: the first says its generation itself, of the second the mark keeps it. */
  readonly form: TicketForm;
  readonly ttlMs: number;
  /** For what costs nothing: no balance is asked for. */
  readonly free?: boolean;
}

/** What control projects out of Postgres, and what it reads back. */
export interface ProjectionPort {
  putWallet(funds: WalletFunds): Promise<void>;
  putKey(key: KeyProjection): Promise<void>;
  /**
   * Writes only where a key is found, which `putKey` does as well: it may be in another shard than the key, and one that
   * is rebuilt has lost it.
   */
  indexKey(key: Pick<KeyProjection, 'keyHash' | 'shard'>): Promise<void>;
  mint(request: MintRequest): Promise<MintReply>;
  /** What a wallet has now, as every admission sees it; undefined where it was not projected. */
  readWallet(shard: number, walletId: string): Promise<Omit<Spendable, 'version'> | undefined>;
  readSettlements(shard: number, afterId: string, limit: number): Promise<SettlementEntry[]>;
  /** The ledger has these charges: their notes go, balance and limits come, if newer. */
  book(charges: BookedCharges): Promise<void>;
  /** The ledger has these charges, but nobody whose they are: their notes go, and the money is their wallets' again. */
  forget(shard: number, holdIds: readonly string[]): Promise<void>;
  /** Everything up to this entry is booked: moves the watermark and trims below it. */
  acknowledge(shard: number, streamId: string): Promise<void>;
  /** The hold ids of the charges that are noted as not booked yet. */
  readNotes(shard: number): Promise<string[]>;
  /** What wallets and keys have at one instant, and what their holds and notes come to; what is unknown is left out. */
  readBooks(
    shard: number,
    wanted: { readonly walletIds: readonly string[]; readonly keyHashes: readonly string[] },
  ): Promise<ShardBooks>;
}

/** A wallet or a key with its sums, and the same sums made anew from every hold and every note. */
export interface AuditedFunds extends Spendable {
  readonly holdsNusd: Nusd;
  readonly notesNusd: Nusd;
}

export interface ShardBooks {
  readonly wallets: ReadonlyMap<string, AuditedFunds>;
  readonly keys: ReadonlyMap<string, AuditedFunds>;
}

/** Catalog, registry and the health of routes: small, shared by all, read off the hot path. */
export interface CatalogPort {
  /** Publishes a snapshot unless a newer one is there. */
  publishCatalog(snapshot: CatalogSnapshot): Promise<void>;
  /** The snapshot, or undefined where none is newer than `knownVersion`. */
  readCatalog(knownVersion: number): Promise<CatalogSnapshot | undefined>;
  publishRegistry(registry: RegistryPublic): Promise<void>;
  readRegistry(): Promise<RegistryPublic | undefined>;
}

export interface HealthPort {
  readPenalties(): Promise<Penalties>;
  /** Replaces the penalty of a key by what `next` makes of the current one. */
  updatePenalty(key: string, next: (current: Penalty | undefined) => Penalty): Promise<void>;
  /** Puts records in place of those that the source shared before: to send them again changes nothing. */
  shareMeasurements(batch: MeasurementBatch): Promise<void>;
  /**
   * The records of an hour (Unix hours) that were shared since the page that gave the cursor, of all sources and without
   * end: read on until `isLast`. An hour keeps `maxMeasurementRecords`; what comes beyond them is left out.
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
 * What can be asked for after a request, and is then gone: hashes, signatures and ids, never content or identity. A receipt
 * comes sealed by its secret and is named by that secret's hash (`sealReceipt`, `receiptIdOf`).
 */
export interface ReceiptPort {
  /** Keeps a document of at most 32,768 characters for `ttlMs`, in place of what the id named before. */
  keepReceipt(kind: ReceiptKind, id: string, document: string, ttlMs: number): Promise<void>;
  /** The document, or undefined where there is none, or none any more. */
  readReceipt(kind: ReceiptKind, id: string): Promise<string | undefined>;
}

/** Whether the state can be reached and holds what control projected. */
export interface ReadinessPort {
  isReady(): Promise<boolean>;
  close(): Promise<void>;
}

/** What a broker asks of the state: nothing that control alone may know, such as whose hold or key one is. */
export type BrokerState = AdmissionPort &
  MembershipPort &
  Pick<CatalogPort, 'readCatalog' | 'publishRegistry' | 'readRegistry'> &
  HealthPort &
  ReceiptPort &
  ReadinessPort;

export type State = AdmissionPort &
  MembershipPort &
  EpochPort &
  ProjectionPort &
  CatalogPort &
  HealthPort &
  ReceiptPort &
  ReadinessPort;
