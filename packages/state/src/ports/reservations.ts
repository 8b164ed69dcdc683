import type { Nusd } from '@sotto/money';

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
