import type { Nusd, Spendable } from '@sotto/money';

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
