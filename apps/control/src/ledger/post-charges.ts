import { randomUUID } from 'node:crypto';
import { drawCharge, type MonthlyGrant, type Nusd } from '@sotto/money';
import type { BookedMonth } from './budget-months.ts';
import { ledgerAccounts } from './post-transaction.ts';
import type { AttributedSettlement, UsedSettlement } from './record-usage.ts';

/** The payers of a batch, as the ledger has them under their locks. */
export interface Payers {
  readonly balances: ReadonlyMap<string, Nusd>;
  readonly grants: ReadonlyMap<string, readonly MonthlyGrant[]>;
}

/** The rows to write for a batch. */
export interface Postings {
  readonly transactions: readonly { readonly id: string; readonly reference: string }[];
  readonly entries: readonly { readonly transactionId: string; readonly account: string; readonly amount: Nusd }[];
  /** The balances of the accounts that pay something. */
  readonly balances: ReadonlyMap<string, Nusd>;
  /** The grants of the accounts that draw on them. */
  readonly grants: readonly (MonthlyGrant & { readonly accountId: string })[];
  /** The settlements of known accounts. */
  readonly used: readonly UsedSettlement[];
  readonly spent: ReadonlyMap<string, Nusd>;
  /**
   * The charges by key, tag and month. It has every settlement with an owner, because one that was booked before may not have reached the
   * state.
   */
  readonly months: readonly BookedMonth[];
  readonly shortfallNusd: Nusd;
}

/** Decides who pays for the settlements of a batch. Only those with ids in `fresh` are not booked yet. */
export function postCharges(batch: readonly AttributedSettlement[], fresh: Iterable<string>, payers: Payers): Postings {
  const left = new Set(fresh);
  const transactions: Postings['transactions'][number][] = [];
  const entries: Postings['entries'][number][] = [];
  const balances = new Map<string, Nusd>();
  const drawnOn = new Map<string, readonly MonthlyGrant[]>();
  const used: UsedSettlement[] = [];
  const spent = new Map<string, Nusd>();
  const months: Postings['months'][number][] = [];
  let shortfallNusd = 0n;
  for (const { settlement, owner } of batch) {
    const { month } = settlement;
    if (owner !== undefined) months.push({ keyId: owner.keyId, tagId: owner.tagId, month, chargedNusd: 0n });
    // `delete` also prevents a settlement that is twice in one batch from being booked twice.
    if (!left.delete(settlement.id)) continue;
    const balanceNusd = owner && (balances.get(owner.accountId) ?? payers.balances.get(owner.accountId));
    if (owner !== undefined && balanceNusd !== undefined) used.push({ ...settlement, ...owner });
    const chargeNusd = BigInt(settlement.chargeNusd);
    if (chargeNusd === 0n) continue;
    const id = randomUUID();
    const pay = (account: string, nusd: Nusd): void => {
      if (nusd > 0n) entries.push({ transactionId: id, account, amount: -nusd });
    };
    transactions.push({ id, reference: `settlement:${settlement.id}` });
    entries.push({ transactionId: id, account: ledgerAccounts.revenue, amount: chargeNusd });
    if (owner === undefined || balanceNusd === undefined) {
      pay(ledgerAccounts.suspense, chargeNusd);
      continue;
    }
    const { accountId, keyId, tagId } = owner;
    const grants = drawnOn.get(accountId) ?? payers.grants.get(accountId) ?? [];
    const drawn = drawCharge({ balanceNusd, grants }, { chargeNusd, month });
    if (grants.length > 0) drawnOn.set(accountId, drawn.grants);
    balances.set(accountId, balanceNusd - drawn.paidNusd);
    shortfallNusd += drawn.shortfallNusd;
    pay(ledgerAccounts.wallet(accountId), drawn.paidNusd);
    pay(ledgerAccounts.grants, drawn.restoredNusd);
    pay(ledgerAccounts.shortfall, drawn.shortfallNusd);
    spent.set(keyId, (spent.get(keyId) ?? 0n) + chargeNusd);
    months.push({ keyId, tagId, month, chargedNusd: chargeNusd });
  }
  const grants = [...drawnOn].flatMap(([accountId, of]) => of.map((grant) => ({ accountId, ...grant })));
  return { transactions, entries, balances, grants, used, spent, months, shortfallNusd };
}
