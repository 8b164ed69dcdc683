import type { Nusd, Spendable } from '@sotto/money';
import type { Declared, KeyProjection } from '../ports.ts';
import type { SettlementEntry } from '../records.ts';

export interface StoredKey {
  /** Undefined where the ledger spoke of the key before its record came. */
  projection: KeyProjection | undefined;
  spend: Spendable;
  limited: boolean;
}
export interface Hold {
  readonly client: string;
  readonly walletId: string;
  readonly keyHash: string;
  readonly amountNusd: Nusd;
  readonly estimatedTokens: number;
  readonly window: number;
  readonly ticketHash: string | undefined;
}
export interface Mark {
  readonly epoch: number;
  readonly walletId: string;
  readonly keyHash: string;
  /** Of the key, where the ticket does not say it. */
  readonly generation: number | undefined;
  readonly expiresAt: number;
  readonly usedBy: string | undefined;
}
export interface Note {
  readonly walletId: string;
  readonly keyHash: string;
  readonly amountNusd: Nusd;
}
export interface Member {
  steps: number;
  leaseUntil: number;
  suspectAt: number | undefined;
  lapsedAt: number | undefined;
}

/** What a key used in one minute, since 1970. */
export interface Rate {
  window: number;
  requests: number;
  tokens: number;
}

/** Everything that a shard holds: plain data, so that a copy of it is a replica. */
export interface ShardData {
  epoch: number | undefined;
  isOpen: boolean;
  readonly members: Map<string, Member>;
  readonly declared: Map<string, Declared>;
  readonly wallets: Map<string, Spendable>;
  readonly keys: Map<string, StoredKey>;
  readonly tickets: Map<string, Mark>;
  readonly holds: Map<string, Hold>;
  readonly notes: Map<string, Note>;
  readonly closed: Map<string, number>;
  readonly reaped: Map<string, { readonly walletId: string; readonly keyHash: string; readonly until: number }>;
  readonly rates: Map<string, Rate>;
  stream: SettlementEntry[];
  sequence: number;
  watermark: string;
}

export const emptyShard = (): ShardData => ({
  epoch: undefined,
  isOpen: false,
  members: new Map(),
  declared: new Map(),
  wallets: new Map(),
  keys: new Map(),
  tickets: new Map(),
  holds: new Map(),
  notes: new Map(),
  closed: new Map(),
  reaped: new Map(),
  rates: new Map(),
  stream: [],
  sequence: 0,
  watermark: '0-0',
});
