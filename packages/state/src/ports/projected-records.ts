import type { Nusd } from '@sotto/money';
import type { Preferences } from '@sotto/wire';
import type { KeyPart } from '../records.ts';

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
  /** Whether refusals of the key's requests are counted: not for the key of an anonymous wallet. */
  readonly countsRefusals: boolean;
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
  /** The sum that the ledger booked of the month's requests. It never falls. */
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
