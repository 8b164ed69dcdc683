import type { Nusd } from '@sotto/money';
import { budgetScopeOf, type RefusingBudget } from '../budgets.ts';
import type { AuditedBudget, BudgetProjection, MonthSpend, RemovedBudget } from '../ports/index.ts';
import type { CountedAs, Hold, Note, ShardData, StoredBudget } from './shard-data.ts';
import { endLater, keep } from './shard-records.ts';

/** The monthly budgets of a shard. A budget's `openNusd` of a month is the sum of the holds and notes that count in it. */

/** Adds an amount to what is open in these budgets. */
export function addOpen({ budgets }: ShardData, { month, budgetIds }: CountedAs, amountNusd: Nusd): void {
  for (const id of budgetIds) {
    const budget = budgets.get(id);
    if (budget?.limitNusd !== undefined) monthIn(budget, month).openNusd += amountNusd;
  }
}

/** Returns the first budget that does not cover an amount, and what is left of it. */
export function refusingBudget(
  { budgets }: ShardData,
  { month, amountNusd, budgetIds }: CountedAs & { readonly amountNusd: Nusd },
): (RefusingBudget & { readonly limitNusd: Nusd; readonly leftNusd: Nusd }) | undefined {
  for (const id of budgetIds) {
    const { limitNusd, months } = budgets.get(id) ?? unknown();
    const { spentNusd, openNusd } = months.get(month) ?? nothing;
    if (limitNusd === undefined) continue;
    const leftNusd = limitNusd - spentNusd - openNusd;
    if (leftNusd < amountNusd) return { scope: budgetScopeOf(id), month, limitNusd, leftNusd };
  }
  return undefined;
}

/** Sets a newer limit, which then counts everything that is held and unbooked. */
export function putBudget(
  shard: ShardData,
  { budgetId, limitNusd, version, keptSince, spent }: BudgetProjection,
  now: number,
): void {
  const budget = budgetOrUnknown(shard, budgetId);
  if (version > budget.version) {
    Object.assign(budget, { limitNusd, version });
    keep(shard, 'budgets', budgetId);
    for (const month of budget.months.values()) month.openNusd = 0n;
    for (const { month, amountNusd } of countedIn(shard, budgetId)) monthIn(budget, month).openNusd += amountNusd;
  }
  for (const each of spent) setSpent(shard, budgetId, each, now);
  for (const [month, sums] of budget.months) {
    if (month >= keptSince) continue;
    sums.spentNusd = 0n;
    if (sums.openNusd === 0n) budget.months.delete(month);
  }
}

/** Removes a budget, unless the state has a newer one. If it is set again, it counts anew what is held and unbooked. */
export function removeBudget(shard: ShardData, { budgetId, version, isNews }: RemovedBudget, now: number): boolean {
  const known = shard.budgets.get(budgetId) ?? unknown();
  if (known.version < 0 && !isNews) return false;
  if (known.version > version || (known.version === version && known.limitNusd === undefined)) return false;
  shard.budgets.set(budgetId, { limitNusd: undefined, version, months: new Map() });
  endLater(shard, 'budgets', budgetId, now);
  return true;
}

export function setSpent(shard: ShardData, budgetId: string, { month, spentNusd }: MonthSpend, now: number): void {
  const known = shard.budgets.get(budgetId)?.months.get(month)?.spentNusd ?? 0n;
  if (spentNusd <= known) return;
  const budget = budgetOrUnknown(shard, budgetId);
  monthIn(budget, month).spentNusd = spentNusd;
  if (budget.limitNusd === undefined) endLater(shard, 'budgets', budgetId, now);
}

/** Returns a budget with its sums, and the same sums recomputed. Undefined if it was removed or is not projected. */
export function readBudget(shard: ShardData, budgetId: string): AuditedBudget | undefined {
  const budget = shard.budgets.get(budgetId);
  if (budget?.limitNusd === undefined) return undefined;
  const parts = countedIn(shard, budgetId);
  const names = new Set([...budget.months.keys(), ...parts.map(({ month }) => month)]);
  const months = [...names].map((name) => {
    const countedNusd = parts.reduce((sum, part) => (part.month === name ? sum + part.amountNusd : sum), 0n);
    return [name, { ...(budget.months.get(name) ?? nothing), countedNusd }] as const;
  });
  return { limitNusd: budget.limitNusd, version: budget.version, months: new Map(months) };
}

const nothing = { spentNusd: 0n, openNusd: 0n };
const unknown = (): StoredBudget => ({ limitNusd: undefined, version: -1, months: new Map() });

/** The holds and notes that count in a budget. */
const countedIn = ({ holds, notes }: Pick<ShardData, 'holds' | 'notes'>, budgetId: string): (Hold | Note)[] =>
  [...holds.values(), ...notes.values()].filter(({ budgetIds }) => budgetIds.includes(budgetId));

function budgetOrUnknown({ budgets }: ShardData, budgetId: string): StoredBudget {
  const budget = budgets.get(budgetId) ?? unknown();
  budgets.set(budgetId, budget);
  return budget;
}

function monthIn({ months }: StoredBudget, month: string): { spentNusd: Nusd; openNusd: Nusd } {
  const sums = months.get(month) ?? { ...nothing };
  months.set(month, sums);
  return sums;
}
