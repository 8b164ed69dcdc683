import type { QueryInput } from '@sotto/contract';
import type { operatorContracts } from '@sotto/contract/control/operator';
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { call } from '../../api/call.ts';
import { byCursor } from '../../api/queries.ts';

export const accountsQuery = (search: string) =>
  infiniteQueryOptions({
    queryKey: ['operator', 'accounts', search],
    queryFn: ({ pageParam, signal }) =>
      call('GET /v1/operator/accounts', {
        query: { cursor: pageParam, search: search === '' ? undefined : search },
        signal,
      }),
    ...byCursor,
  });

export const operatorAccountQuery = (id: string) =>
  queryOptions({
    queryKey: ['operator', 'account', id],
    queryFn: ({ signal }) => call('GET /v1/operator/accounts/{id}', { params: { id }, signal }),
  });

type ActFilters = Omit<QueryInput<(typeof operatorContracts)['GET /v1/operator/audit']>, 'cursor' | 'limit' | 'format'>;

/** The acts that match. */
export const operatorActsQuery = (filters: ActFilters) =>
  infiniteQueryOptions({
    queryKey: ['operator', 'audit', filters],
    queryFn: ({ pageParam, signal }) =>
      call('GET /v1/operator/audit', { query: { ...filters, cursor: pageParam }, signal }),
    ...byCursor,
  });

/** Selects what people spent. Days are in UTC; `to` is exclusive. */
export interface SpendFilters {
  readonly from: string;
  readonly to: string;
  readonly account_id?: string | undefined;
}

export const spendQuery = (filters: SpendFilters) =>
  infiniteQueryOptions({
    queryKey: ['operator', 'spend', filters],
    queryFn: ({ pageParam, signal }) =>
      call('GET /v1/operator/spend', { query: { ...filters, cursor: pageParam }, signal }),
    ...byCursor,
  });

export const providersQuery = queryOptions({
  queryKey: ['operator', 'providers'],
  queryFn: async ({ signal }) => (await call('GET /v1/operator/providers', { signal })).data,
});

/** The orders of a time; of all without one. */
export const allOrdersQuery = (time: { readonly from?: string; readonly to?: string }) =>
  infiniteQueryOptions({
    queryKey: ['operator', 'orders', time],
    queryFn: ({ pageParam, signal }) =>
      call('GET /v1/operator/orders', { query: { ...time, cursor: pageParam }, signal }),
    ...byCursor,
  });

export const rejectedQuery = queryOptions({
  queryKey: ['operator', 'rejected'],
  queryFn: async ({ signal }) => (await call('GET /v1/operator/rejected-settlements', { signal })).data,
});

export const booksQuery = queryOptions({
  queryKey: ['operator', 'books'],
  queryFn: ({ signal }) => call('GET /v1/operator/books', { signal }),
});

export const signUpQuery = queryOptions({
  queryKey: ['operator', 'sign-up'],
  queryFn: ({ signal }) => call('GET /v1/operator/sign-up', { signal }),
});
