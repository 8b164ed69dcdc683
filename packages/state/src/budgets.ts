import { hash } from 'node:crypto';
import { type Nusd, nusdToUsd } from '@sotto/money';

/** Whose requests a budget limits: all of a workspace, those of a member's keys in it, those of keys with a tag, or those of one key. */
const budgetScopes = ['workspace', 'member', 'tag', 'key'] as const;
export type BudgetScope = (typeof budgetScopes)[number];

/**
 * Names a budget in the shared state. The name follows from whom it limits, so that a key can name its budgets before they exist and
 * a new budget needs no change of its keys. The ids are hashed, because Redis needs no id of Postgres.
 */
export const budgetIdOf = (scope: BudgetScope, ...ids: readonly string[]): string =>
  `${scope}:${hash('sha256', ['sotto budget', scope, ...ids].join(' '), 'base64url').slice(0, 22)}`;

export function budgetScope(text: string): BudgetScope {
  const scope = budgetScopes.find((each) => each === text);
  if (scope === undefined) throw new Error(`no scope of a budget: ${text}`);
  return scope;
}

export const budgetScopeOf = (budgetId: string): BudgetScope => budgetScope(budgetId.slice(0, budgetId.indexOf(':')));

/** Returns the UTC month of a time in Unix ms: `YYYY-MM`. */
export const monthOf = (ms: number): string => new Date(ms).toISOString().slice(0, 7);

export const monthAfter = (month: string): string => monthOf(Date.parse(`${month}-01T00:00:00Z`) + 31 * 86_400_000);

export const monthBefore = (month: string): string => monthOf(Date.parse(`${month}-01T00:00:00Z`) - 86_400_000);

/** Months from the year 0000 on, as a broker may state them. */
export const monthPattern = /^\d{4}-(0[1-9]|1[0-2])$/;

const owners: Record<BudgetScope, string> = {
  ...{ workspace: "workspace's", member: "member's", tag: "tag's", key: "key's" },
};

/** A monthly budget that does not cover a request. */
export interface RefusingBudget {
  readonly scope: BudgetScope;
  /** UTC, `YYYY-MM`. */
  readonly month: string;
  /** Undefined in the answer to a ticket, because a limit could help to identify its owner. */
  readonly limitNusd: Nusd | undefined;
  /** What is left of a key's own budget, in an answer to the key. Undefined for budgets that keys share, because it would link them. */
  readonly leftNusd?: Nusd | undefined;
}

/** Names a budget that refused a request, as part of a sentence. */
export const describeBudget = ({ scope, month, limitNusd }: RefusingBudget): string =>
  `the ${owners[scope]} budget${limitNusd === undefined ? '' : ` of ${nusdToUsd(limitNusd)} USD`} ` +
  `until ${monthAfter(month)}-01 00:00 UTC`;
