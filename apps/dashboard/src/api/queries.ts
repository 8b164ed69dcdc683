import { queryOptions } from '@tanstack/react-query';
import { call, callAll } from './call.ts';

/** Options of a list that the service answers by pages, each with the cursor of the next one. */
export const byCursor = {
  initialPageParam: undefined as string | undefined,
  getNextPageParam: ({ next_cursor }: { readonly next_cursor: string | null }): string | undefined =>
    next_cursor ?? undefined,
};

/** The balance of the account that is signed in. */
export const balanceQuery = queryOptions({
  queryKey: ['balance'],
  queryFn: ({ signal }) => call('GET /v1/balance', { signal }),
  refetchInterval: 30_000,
});

/** The account that is signed in, and whether its person is an operator. */
export const accountQuery = queryOptions({
  queryKey: ['account'],
  queryFn: ({ signal }) => call('GET /v1/account', { signal }),
  staleTime: 5 * 60_000,
});

/** The optional features that this deployment offers. */
export const capabilitiesQuery = queryOptions({
  queryKey: ['capabilities'],
  queryFn: ({ signal }) => call('GET /v1/capabilities', { signal }),
  staleTime: Number.POSITIVE_INFINITY,
});

/** The members of a workspace, the owner first. */
export const membersQuery = (workspaceId: string) =>
  queryOptions({
    queryKey: ['workspaces', workspaceId, 'members'],
    queryFn: ({ signal }) => callAll('GET /v1/workspaces/{id}/members', { params: { id: workspaceId }, signal }),
  });

/** What bounds the keys of a workspace. */
export const policyQuery = (workspaceId: string) =>
  queryOptions({
    queryKey: ['workspaces', workspaceId, 'policy'],
    queryFn: ({ signal }) => call('GET /v1/workspaces/{id}/policy', { params: { id: workspaceId }, signal }),
  });

/** The public catalog: every model with its routes. */
export const modelsQuery = queryOptions({
  queryKey: ['models'],
  queryFn: async ({ signal }) => (await call('GET /v1/catalog/models', { signal })).data,
  staleTime: 60_000,
});

/** How all routes with enough requests did in the last 24 hours, by model. */
export const measurementsQuery = queryOptions({
  queryKey: ['measurements'],
  queryFn: async ({ signal }) =>
    new Map(
      (await call('GET /v1/catalog/measurements', { signal })).data.map(
        ({ model, routes }) => [model, routes] as const,
      ),
    ),
  staleTime: 60_000,
});

/** How the routes of a model did in the last 24 hours. */
export const uptimeQuery = (model: string) =>
  queryOptions({
    queryKey: ['uptime', model],
    queryFn: ({ signal }) => call('GET /v1/models/uptime', { query: { model }, signal }),
    staleTime: 60_000,
  });

/** Packages and ways to pay, and whether this deployment sells balance. */
export const billingCatalogQuery = queryOptions({
  queryKey: ['billing', 'catalog'],
  queryFn: ({ signal }) => call('GET /v1/billing/catalog', { signal }),
  staleTime: 60_000,
});
