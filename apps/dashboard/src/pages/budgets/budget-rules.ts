import type { KeyAnswer } from '@sotto/contract/control/keys';
import type { RefusalsAnswer } from '@sotto/contract/control/usage';
import { isRoleAtLeast, type WorkspaceRole } from '@sotto/contract/control/workspace-role';
import type { BudgetAnswer, BudgetSettingsAnswer, WorkspaceMemberAnswer } from '@sotto/contract/control/workspaces';
import { formatUsd } from '../../format/format.ts';
import { type Used, usedOf } from '../keys/key-rules.ts';

/** Whether a member can set budgets and see the webhook (`workspaces/permissions.ts` of control). */
export const maySetBudgets = (role: WorkspaceRole): boolean => isRoleAtLeast(role, 'admin');

/** The share of a budget from which on it counts as nearly used up: the second alert. */
const nearShare = 0.8;

/** How much of a budget is used. */
export const shareOf = ({ limit_usd: limit, spent_usd: spent }: BudgetAnswer): Used => usedOf(limit, spent, nearShare);

/** How many of these refused requests the budget refused. Keys count for the tags that they have now. */
export const refusedBy = (
  { scope, member_id: member, key_id: key, tag }: Pick<BudgetAnswer, 'scope' | 'member_id' | 'key_id' | 'tag'>,
  refusals: RefusalsAnswer['data'],
  keys: readonly Pick<KeyAnswer, 'id' | 'created_by' | 'tag'>[],
): number => {
  const limited = keys.filter((one) =>
    member !== null ? one.created_by === member : key !== null ? one.id === key : tag === null || one.tag === tag,
  );
  return refusals
    .filter(({ kind, key_id }) => kind === `${scope}_budget` && limited.some(({ id }) => id === key_id))
    .reduce((sum, { count }) => sum + count, 0);
};

const dayMs = 86_400_000;

/**
 * Returns the cost of the whole month at its present rate. Undefined on its first day, which says little about the others.
 */
export function projectedUsd(
  { month, month_ends_at: end, spent_usd: spent }: Pick<BudgetAnswer, 'month' | 'month_ends_at' | 'spent_usd'>,
  now: number,
): number | undefined {
  const startMs = Date.parse(`${month}-01T00:00:00Z`);
  const elapsedMs = Math.min(now, Date.parse(end)) - startMs;
  return elapsedMs < dayMs ? undefined : (spent * (Date.parse(end) - startMs)) / elapsedMs;
}

/** The names of members and keys by their ids; undefined until they are loaded. */
export interface Names {
  readonly members: ReadonlyMap<string, string> | undefined;
  readonly keys: ReadonlyMap<string, string> | undefined;
}

/** Returns the name of the member or key that a budget limits, or its tag. */
export function ownerOf({ member_id: member, key_id: key, tag }: BudgetAnswer, { members, keys }: Names): string {
  if (key !== null) return keys === undefined ? '…' : (keys.get(key) ?? 'A former key');
  if (member !== null) return members === undefined ? '…' : (members.get(member) ?? 'A former member');
  return tag ?? 'Whole workspace';
}

/** The facts that decide which budget a member has. Undefined while they load. */
export interface Defaults {
  readonly settings: Pick<BudgetSettingsAnswer, 'member_budget_usd'> | undefined;
  readonly members: readonly Pick<WorkspaceMemberAnswer, 'account_id' | 'role'>[] | undefined;
}

/** Returns what holds once a budget is removed. A member then has the default budget, if there is one. The owner has none. */
export function afterRemoval({ member_id: member }: BudgetAnswer, { settings, members }: Defaults): string {
  const unlimited = 'a month may then cost any amount that the balance covers';
  if (member === null) return unlimited;
  if (settings === undefined || members === undefined) return 'this limit then applies no more';
  const usd = settings.member_budget_usd;
  const isMember = members.some(({ account_id: id, role }) => id === member && role !== 'owner');
  return usd === null || !isMember ? unlimited : `the budget of each member, ${formatUsd(usd)} a month, then applies`;
}

const isLimitable = ({ kind, revoked_at }: KeyAnswer): boolean => kind === 'inference' && revoked_at === null;

/** The keys that can have a budget and have none. */
export const keysWithout = (keys: readonly KeyAnswer[], budgets: readonly BudgetAnswer[]): readonly KeyAnswer[] =>
  keys.filter((key) => isLimitable(key) && !budgets.some(({ key_id }) => key_id === key.id));

/** The tags of such keys that have no budget. */
export const tagsWithout = (keys: readonly KeyAnswer[], budgets: readonly BudgetAnswer[]): readonly string[] =>
  [...new Set(keys.filter(isLimitable).flatMap(({ tag }) => tag ?? []))]
    .filter((tag) => !budgets.some((budget) => budget.tag === tag))
    .sort();
