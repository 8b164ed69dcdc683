import type { FetchQueryOptions, QueryClient } from '@tanstack/react-query';
import { budgetsQuery } from '../../api/budgets.ts';
import { keysQuery } from '../../api/keys.ts';
import {
  accountQuery,
  balanceQuery,
  billingCatalogQuery,
  capabilitiesQuery,
  measurementsQuery,
  membersQuery,
} from '../../api/queries.ts';
import { usageSumsQuery } from '../../api/usage.ts';
import { addDays } from '../../format/days.ts';
import type { HomeFacts } from '../../session/last-home.ts';
import { signInMethodsQuery } from '../../session/session.ts';
import { workspacesQuery } from '../../workspaces/workspaces.tsx';
import { workspaceGrantsQuery } from '../apps/apps.ts';
import { billingSettingsQuery, monthlyGrantQuery } from '../billing/billing.ts';
import { overviewDays } from '../usage/days.ts';

/**
 * The sums of the overview: by day, those of the last 30 days by model and by key, and those of a week of all workspaces
 * that the account pays for.
 */
export function homeSums(workspaceId: string, now: number) {
  const { from, last30, to } = overviewDays(now);
  const recent = { from: last30, to, workspace_id: workspaceId };
  return {
    days: usageSumsQuery({ from, to, workspace_id: workspaceId }, ['day']),
    models: usageSumsQuery(recent, ['model']),
    keys: usageSumsQuery(recent, ['key_id']),
    week: usageSumsQuery({ from: addDays(to, -7), to }, ['day']),
  };
}

/**
 * Asks for everything that the overview shows, at once. Each part of the page would otherwise ask when it is first drawn,
 * which is after the answers that come before it. A query that fails here is repeated by the part that needs it.
 */
export function startHome(client: QueryClient, { workspaceId, role, billing, hasApps }: HomeFacts, now: number): void {
  const sums = homeSums(workspaceId, now);
  const queries: readonly { readonly queryKey: readonly unknown[] }[] = [
    ...[workspacesQuery, accountQuery, capabilitiesQuery, signInMethodsQuery, measurementsQuery],
    ...[sums.days, sums.models, budgetsQuery(workspaceId), keysQuery(workspaceId), membersQuery(workspaceId)],
    ...(role === 'viewer' ? [] : [sums.keys]),
    ...(role !== 'viewer' && hasApps ? [workspaceGrantsQuery(workspaceId)] : []),
    ...(role === 'owner' ? [balanceQuery, billingCatalogQuery, sums.week] : []),
    ...(role === 'owner' && billing === 'none' ? [monthlyGrantQuery] : []),
    ...(role === 'owner' && billing === 'prepaid' ? [billingSettingsQuery] : []),
  ];
  for (const query of queries) void client.prefetchQuery(query as FetchQueryOptions);
}
