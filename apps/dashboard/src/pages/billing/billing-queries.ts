import type { BillingSettings, CreateOrder, OrderAnswer } from '@sotto/wire';
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { call } from '../../api/call.ts';

export const billingCatalogQuery = queryOptions({
  queryKey: ['billing', 'catalog'],
  queryFn: ({ signal }) => call('GET /v1/billing/catalog', { signal }),
  staleTime: 60_000,
});

export const ordersQuery = infiniteQueryOptions({
  queryKey: ['billing', 'orders'],
  queryFn: ({ pageParam, signal }) =>
    call('GET /v1/billing/orders', { query: { limit: 10, cursor: pageParam }, signal }),
  initialPageParam: undefined as string | undefined,
  getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
});

export const receiptsQuery = infiniteQueryOptions({
  queryKey: ['billing', 'receipts'],
  queryFn: ({ pageParam, signal }) =>
    call('GET /v1/billing/receipts', { query: { limit: 10, cursor: pageParam }, signal }),
  initialPageParam: undefined as string | undefined,
  getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
});

const pollMs = 2_000;

/** One order, asked again while it can still change by itself. */
export const orderQuery = (id: string) =>
  queryOptions({
    queryKey: ['billing', 'order', id],
    queryFn: ({ signal }) => call('GET /v1/billing/orders/{orderId}', { params: { orderId: id }, signal }),
    refetchInterval: ({ state }) => (state.data !== undefined && isOpen(state.data) ? pollMs : false),
  });

export const isOpen = ({ status }: OrderAnswer): boolean => status === 'created' || status === 'pending';

export const billingSettingsQuery = queryOptions({
  queryKey: ['billing', 'settings'],
  queryFn: ({ signal }) => call('GET /v1/billing/settings', { signal }),
});

export const placeOrder = (body: CreateOrder) => call('POST /v1/billing/orders', { body });

export const saveBillingSettings = (body: BillingSettings) => call('PUT /v1/billing/settings', { body });
