import { hash } from 'node:crypto';

/** Whose requests a budget limits: all of a workspace, those of a member's keys in it, or those of one key. */
export const budgetScopes = ['workspace', 'member', 'key'] as const;
export type BudgetScope = (typeof budgetScopes)[number];

/**
 * Names a budget in the shared state. The name follows from whom it limits, so that a key can name its budgets before they exist and
 * a new budget needs no change of its keys. The ids are hashed, because Redis needs no id of Postgres.
 */
export const budgetIdOf = (scope: BudgetScope, ...ids: readonly string[]): string =>
  `${scope}:${hash('sha256', ['sotto budget', scope, ...ids].join(' '), 'base64url').slice(0, 22)}`;

export function budgetScopeOf(budgetId: string): BudgetScope {
  const scope = budgetScopes.find((each) => budgetId.startsWith(`${each}:`));
  if (scope === undefined) throw new Error(`no budget id: ${budgetId}`);
  return scope;
}

/** Returns the UTC month of a time in Unix ms: `YYYY-MM`. */
export const monthOf = (ms: number): string => new Date(ms).toISOString().slice(0, 7);

/** Returns the first month after this one. */
export const monthAfter = (month: string): string => monthOf(Date.parse(`${month}-01T00:00:00Z`) + 31 * 86_400_000);

/** Returns the last month before this one. */
export const monthBefore = (month: string): string => monthOf(Date.parse(`${month}-01T00:00:00Z`) - 86_400_000);

/** Months from the year 0000 on, as a broker may state them. */
export const monthPattern = /^\d{4}-(0[1-9]|1[0-2])$/;
