import type { Nusd } from '@sotto/money';
import type { Caller } from '../membership/membership.ts';
import type { SettlementEntry } from '../records.ts';
import type { MonthSpend, WalletFunds } from './projected-records.ts';

/** A member that read a stream: its incarnation and epoch. */
export type SettlementReader = Pick<Caller, 'client' | 'epoch'>;

export interface TakenSettlements {
  readonly entries: readonly SettlementEntry[];
  readonly reader: SettlementReader;
}

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
