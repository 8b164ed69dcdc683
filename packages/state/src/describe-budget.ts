import { nusdToUsd } from '@sotto/money';
import { type BudgetScope, monthAfter } from './budgets.ts';
import type { RefusingBudget } from './ports.ts';

const owners: Record<BudgetScope, string> = { workspace: "workspace's", member: "member's", key: "key's" };

/** Names a budget that refused a request, as part of a sentence. */
export const describeBudget = ({ scope, month, limitNusd }: RefusingBudget): string =>
  `the ${owners[scope]} budget${limitNusd === undefined ? '' : ` of ${nusdToUsd(limitNusd)} USD`} ` +
  `until ${monthAfter(month)}-01 00:00 UTC`;
