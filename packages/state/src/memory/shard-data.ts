import type { Nusd, Spendable } from '@sotto/money';
import type { Preferences } from '@sotto/wire';
import type { Declared, KeyProjection } from '../ports/index.ts';
import type { SettlementEntry } from '../records.ts';
import type { Endings } from './endings.ts';

export interface StoredKey {
  /** Undefined if the key was removed, or if the ledger's funds of it arrived before its record. */
  projection: KeyProjection | undefined;
  /** -1: not known yet. */
  generation: number;
  spend: Spendable;
  limited: boolean;
}
/** The preferences of the keys of a workspace. */
export interface StoredWorkspace {
  /** -1: not projected. */
  version: number;
  /** The oldest version whose tickets are still valid. */
  ticketsSince: number;
  preferences: Preferences | undefined;
  /** Whether the preferences are unreadable. */
  isOff: boolean;
  /** The number of keys that name it. */
  keys: number;
}
/** The month and the budgets in which an amount counts. */
export interface CountedAs {
  readonly month: string;
  readonly budgetIds: readonly string[];
}
export interface Hold extends CountedAs {
  readonly client: string;
  readonly walletId: string;
  readonly keyHash: string;
  readonly amountNusd: Nusd;
  readonly estimatedTokens: number;
  readonly window: number;
  readonly ticketHash: string | undefined;
}
/** A budget and its months, `YYYY-MM`. */
export interface StoredBudget {
  /** Undefined: it was removed, or has not come yet. */
  limitNusd: Nusd | undefined;
  /** -1: not projected. */
  version: number;
  readonly months: Map<string, { spentNusd: Nusd; openNusd: Nusd }>;
}
export interface Mark {
  readonly epoch: number;
  readonly keyHash: string;
  readonly generation: string;
  readonly expiresAt: number;
  readonly usedBy: string | undefined;
}
export interface Note extends CountedAs {
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

/** Usage of a key in one minute (Unix minutes). */
export interface Rate {
  window: number;
  requests: number;
  tokens: number;
}

/** The data of a shard. Plain data, so that a copy is a replica. */
export interface ShardData {
  epoch: number | undefined;
  isOpen: boolean;
  readonly members: Map<string, Member>;
  readonly declared: Map<string, Declared>;
  readonly wallets: Map<string, Spendable>;
  readonly keys: Map<string, StoredKey>;
  readonly workspaces: Map<string, StoredWorkspace>;
  /** When records of removed keys and budgets, and of workspaces without keys, are forgotten. By `keys <hash>` and so on. */
  readonly endings: Endings;
  readonly tickets: Map<string, Mark>;
  readonly holds: Map<string, Hold>;
  readonly notes: Map<string, Note>;
  readonly budgets: Map<string, StoredBudget>;
  readonly closed: Map<string, number>;
  readonly reaped: Map<string, Omit<Note, 'amountNusd'> & { readonly until: number }>;
  readonly rates: Map<string, Rate>;
  /** Counts of refusals by hour, by their names (`refusals.ts`). */
  readonly refusals: Map<number, { until: number; readonly counts: Map<string, number> }>;
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
  workspaces: new Map(),
  endings: new Map(),
  tickets: new Map(),
  holds: new Map(),
  notes: new Map(),
  budgets: new Map(),
  closed: new Map(),
  reaped: new Map(),
  rates: new Map(),
  refusals: new Map(),
  stream: [],
  sequence: 0,
  watermark: '0-0',
});

/** The funds of wallets and keys that are not projected. Older than every version. */
export const empty: Spendable = { fundsNusd: 0n, version: -1, heldNusd: 0n, unbookedNusd: 0n };

const amountsOf = (amounts: ReadonlyMap<string, Hold | Note>): object =>
  Object.fromEntries(
    [...amounts].map(([id, { walletId, keyHash, amountNusd, month, budgetIds }]) => [
      id,
      { walletId, keyHash, amountNusd, month, budgetIds },
    ]),
  );

/** The data of a shard that count, in a form that can be compared. */
export const snapshotOf = (shard: ShardData): object => ({
  epoch: shard.epoch === undefined ? undefined : { id: shard.epoch, isOpen: shard.isOpen },
  members: Object.fromEntries(
    [...shard.members].flatMap(([client, { steps, lapsedAt }]) => (lapsedAt === undefined ? [[client, steps]] : [])),
  ),
  wallets: Object.fromEntries(shard.wallets),
  keys: Object.fromEntries(
    [...shard.keys].map(([hash, { spend, generation, projection }]) => [
      hash,
      { ...spend, generation, workspaceId: projection?.workspace.workspaceId },
    ]),
  ),
  workspaces: Object.fromEntries(shard.workspaces),
  tickets: Object.fromEntries([...shard.tickets].map(([hash, mark]) => [hash, mark.usedBy ?? ''])),
  holds: amountsOf(shard.holds),
  notes: amountsOf(shard.notes),
  budgets: Object.fromEntries(
    [...shard.budgets].map(([id, { limitNusd, version, months }]) => [
      id,
      {
        limitNusd,
        version,
        months: Object.fromEntries([...months].filter(([, month]) => month.spentNusd !== 0n || month.openNusd !== 0n)),
      },
    ]),
  ),
  closed: [...shard.closed.keys()].sort(),
  reaped: Object.fromEntries([...shard.reaped].map(([id, { until: _, ...mark }]) => [id, mark])),
  refusals: Object.fromEntries([...shard.refusals].map(([hour, { counts }]) => [hour, Object.fromEntries(counts)])),
  stream: shard.stream.map((entry) => entry.payload),
});
