import { queryOptions } from '@tanstack/react-query';
import { call, callAll } from './call.ts';

/** The monthly budgets of a workspace. */
export const budgetsQuery = (workspaceId: string) =>
  queryOptions({
    queryKey: ['workspaces', workspaceId, 'budgets'],
    queryFn: ({ signal }) => callAll('GET /v1/workspaces/{id}/budgets', { params: { id: workspaceId }, signal }),
  });

/** The percents at which budgets alert, and the budget of members. */
export const budgetSettingsQuery = (workspaceId: string) =>
  queryOptions({
    queryKey: ['workspaces', workspaceId, 'budget-settings'],
    queryFn: ({ signal }) => call('GET /v1/workspaces/{id}/budget-settings', { params: { id: workspaceId }, signal }),
  });

/** The webhook that receives the alerts of a workspace, or null. Only admins may read it. */
export const webhookQuery = (workspaceId: string) =>
  queryOptions({
    queryKey: ['workspaces', workspaceId, 'webhook'],
    queryFn: async ({ signal }) =>
      (await call('GET /v1/workspaces/{id}/webhook', { params: { id: workspaceId }, signal })).webhook,
  });
