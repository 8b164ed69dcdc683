import type { Nusd } from '@sotto/money';
import type { RefusingBudget } from '../budgets.ts';

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
  readonly ttlMs: number;
  /** For free requests, which need no balance. */
  readonly free?: boolean;
}
