import type { Nusd } from '@sotto/money';
import type { Signed } from '../envelopes/sealing.ts';
import type { StateWatch } from './watch.ts';

/** A caller's declaration. Only control can decrypt the owners in it. */
export interface Declared extends Signed {
  readonly client: string;
}

/** A declared amount of one request, attributed by control. */
export interface RestoredAmount {
  readonly holdId: string;
  readonly walletId: string;
  readonly keyHash: string;
  readonly amountNusd: Nusd;
  /** The month in whose budgets it counts. */
  readonly month: string;
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
  /** Calls `wake` when a process has joined a shard or declared its holds, and when the state can be reached again. An announcement may be lost. */
  watchMembers(wake: () => void): StateWatch;
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
