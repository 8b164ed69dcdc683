import type { AttributedSettlement, BookingResult } from '@sotto/control';
import type { AccountRef } from '@sotto/state';

export interface SimulatedAccount {
  readonly accountId: string;
  readonly walletId: string;
  readonly shard: number;
  balanceNusd: bigint;
  version: number;
  toppedUpNusd: bigint;
  /** What became credits. */
  withdrawnNusd: bigint;
  readonly budget: SimulatedBudget;
}
/** A monthly budget of everything that an account's keys spend. */
export interface SimulatedBudget {
  readonly budgetId: string;
  /** Undefined: it was never set. */
  limitNusd: bigint | undefined;
  /** The highest limit so far. Undefined: there was a time without one. */
  highestNusd: bigint | undefined;
  version: number;
  readonly spent: Map<string, bigint>;
}
export interface SimulatedKey {
  readonly keyId: string;
  readonly keyHash: string;
  readonly account: SimulatedAccount;
  readonly limitNusd: bigint | undefined;
  spentNusd: bigint;
  version: number;
}

/** A transaction that withdraws. It has the locks of every account and of the epoch. */
export interface Withdrawal {
  readonly account: SimulatedAccount;
  readonly epoch: number;
  readonly openedAt: number;
}

/** The time after which Postgres ends an idle transaction, in ms. */
const idleMs = 5_000;

/** A stand-in for Postgres. It keeps its data when any process crashes. It books as `bookSettlements` does. */
export class SimulatedLedger {
  readonly accounts: SimulatedAccount[] = [];
  readonly keys: SimulatedKey[] = [];
  readonly booked = new Map<string, bigint>();
  readonly shortfalls: { readonly walletId: string; readonly nusd: bigint }[] = [];
  readonly epochs = new Map<number, number>();
  readonly clients = new Map<number, Map<string, number>>();
  readonly rejected: string[] = [];
  #withdrawal: Withdrawal | undefined;

  topUp(account: SimulatedAccount, nusd: bigint): void {
    account.balanceNusd += nusd;
    account.toppedUpNusd += nusd;
    account.version += 1;
  }

  /** Whether a transaction that withdraws is open at this time. Calls that need its locks must wait. */
  isLocked(now: number): boolean {
    if (this.#withdrawal !== undefined && now - this.#withdrawal.openedAt >= idleMs) this.#withdrawal = undefined;
    return this.#withdrawal !== undefined;
  }

  /** Begins to withdraw. Call it when nothing is locked. */
  begin(account: SimulatedAccount, at: { readonly shard: number; readonly now: number }): Withdrawal {
    this.#withdrawal = { account, epoch: this.epochs.get(at.shard) ?? 0, openedAt: at.now };
    return this.#withdrawal;
  }

  /** Ends a transaction and takes this out of its account. False if it had ended before. */
  commit(withdrawal: Withdrawal, nusd: bigint, now: number): boolean {
    if (!this.isLocked(now) || this.#withdrawal !== withdrawal) return false;
    this.#withdrawal = undefined;
    if (nusd === 0n) return true;
    withdrawal.account.balanceNusd -= nusd;
    withdrawal.account.withdrawnNusd += nusd;
    withdrawal.account.version += 1;
    return true;
  }

  setBudget({ budget }: SimulatedAccount, nusd: bigint): void {
    budget.limitNusd = nusd;
    budget.version += 1;
    if (budget.highestNusd !== undefined && nusd > budget.highestNusd) budget.highestNusd = nusd;
  }

  book(batch: readonly AttributedSettlement[]): BookingResult {
    let bookedCount = 0;
    let shortfallNusd = 0n;
    const touched = new Map<SimulatedAccount, { holdIds: string[]; charged: boolean; months: Set<string> }>();
    const keys = new Set<SimulatedKey>();
    for (const { settlement, owner } of batch) {
      const key = this.keyOf(owner);
      if (key === undefined) throw new Error('nobody');
      const { account } = key;
      const seen = touched.get(account) ?? { holdIds: [], charged: false, months: new Set() };
      touched.set(account, seen);
      keys.add(key);
      const month = settlement.month;
      seen.months.add(month);
      if (settlement.kind === 'charge') seen.holdIds.push(settlement.id);
      if (this.booked.has(settlement.id)) continue;
      const charge = BigInt(settlement.chargeNusd);
      this.booked.set(settlement.id, charge);
      bookedCount += 1;
      if (charge === 0n) continue;
      const paid = charge < account.balanceNusd ? charge : account.balanceNusd;
      account.balanceNusd -= paid;
      seen.charged = true;
      key.spentNusd += charge;
      account.budget.spent.set(month, (account.budget.spent.get(month) ?? 0n) + charge);
      key.version += 1;
      if (charge > paid) {
        shortfallNusd += charge - paid;
        this.shortfalls.push({ walletId: account.walletId, nusd: charge - paid });
      }
    }
    for (const [account, { charged }] of touched) if (charged) account.version += 1;
    return {
      booked: bookedCount,
      shortfallNusd,
      waivedNusd: 0n,
      used: { inputTokens: 0, outputTokens: 0, chargedNusd: 0n },
      unattributedHoldIds: [],
      wallets: [...touched].map(([account, { holdIds, months }]) => ({
        accountId: account.accountId,
        walletId: account.walletId,
        balanceNusd: account.balanceNusd,
        version: account.version,
        keys: [...keys]
          .filter((key) => key.account === account)
          .map((key) => ({ keyHash: key.keyHash, limitFundsNusd: fundsOf(key), version: key.version })),
        budgets: account.budget.limitNusd === undefined ? [] : spentOf(account.budget, months),
        holdIds,
      })),
    };
  }

  keyOf(ref: AccountRef | undefined): SimulatedKey | undefined {
    return this.keys.find(({ keyId }) => keyId === ref?.keyId);
  }
}

const spentOf = ({ budgetId, spent }: SimulatedBudget, months: ReadonlySet<string>) =>
  [...months].map((month) => ({ budgetId, month, spentNusd: spent.get(month) ?? 0n }));

export const fundsOf = ({ limitNusd, spentNusd }: SimulatedKey): bigint | undefined =>
  limitNusd === undefined ? undefined : limitNusd - spentNusd;
