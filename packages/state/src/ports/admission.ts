import type { Nusd } from '@sotto/money';
import type { RefusingBudget } from '../budgets.ts';
import type { Signed } from '../envelopes/sealing.ts';
import type { RefusedRequest } from './refusals.ts';
import type { RateStatus, RightToCheck, VersionedKey } from './rights.ts';

export interface RedeemRequest extends RightToCheck {
  /** The generation of the key's record that the plan was made with. Undefined for a ticket, whose mark has it. */
  readonly generation?: string | undefined;
  /** Random id that the broker chooses, so that repeating a redeem is harmless. */
  readonly holdId: string;
  readonly amountNusd: Nusd;
  /** Tokens that count against the rate limit until the settlement has the real number. */
  readonly estimatedTokens: number;
  /** For free requests, which need no balance. */
  readonly free?: boolean;
  /** The script holds this instead of `amountNusd`, as far as it is available, and never less than `amountNusd`. */
  readonly roundedNusd?: Nusd | undefined;
}

export type RedeemReply =
  /** The hold counts in this month's budgets: UTC, `YYYY-MM`. `heldNusd`: what was held of a rounded amount. */
  | {
      readonly result: 'admitted';
      readonly month: string;
      readonly rate: RateStatus;
      readonly heldNusd?: Nusd | undefined;
    }
  /** The ticket is unknown or used, or its key or preferences have changed. */
  | { readonly result: 'invalid_ticket' }
  | { readonly result: 'unknown_key' }
  /** The key record has changed since the plan. Plan again with this one. */
  | { readonly result: 'stale_key'; readonly key: VersionedKey }
  | { readonly result: 'rate_limited'; readonly by: 'requests' | 'tokens'; readonly rate: RateStatus }
  /** `leftNusd`: what is left of a key's limit, in an answer to the key. */
  | {
      readonly result: 'insufficient';
      readonly scope: 'wallet' | 'key';
      readonly leftNusd?: Nusd | undefined;
      readonly rate: RateStatus;
    }
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
  /**
   * Counts a request that the caller itself refused, unless its right is of an anonymous wallet. Tells nothing about the right. `redeem`
   * and `mint` count what they refuse for money or rates.
   */
  countRefusal(refused: RefusedRequest): Promise<void>;
  /** Undoes a redeem whose reply was lost, even one that arrives later. Releases the money and makes the ticket valid again. */
  cancel(shard: number, holdId: string): Promise<void>;
  /** Returns the ids of the holds of the caller's incarnation in a shard. */
  readOwnHolds(shard: number): Promise<string[]>;
  /** Ends a hold, if it still exists, and writes the settlement for the ledger. Returns the entry's place, if any. */
  settle(request: SettleRequest): Promise<StreamPlace | undefined>;
  /**
   * Resolves once the kernel has what this turn of the event loop asked for, so that the end of this process cannot stop it. Rejects
   * where nobody can say so before the answer. Undefined: the state is in this process.
   */
  readonly sent?: () => Promise<void>;
  /** Returns the place up to which a shard's settlements are booked. */
  watermark(shard: number): Promise<StreamPlace>;
}
