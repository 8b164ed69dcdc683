import type {
  BillingCatalog,
  BillingSettings,
  BillingSettingsAnswer,
  OrderAnswer,
  OrderPage,
  RailName,
  ReceiptPage,
} from '@sotto/wire';
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { call } from '../../api/call.ts';

export const billingCatalogQuery = queryOptions({
  queryKey: ['billing', 'catalog'],
  queryFn: ({ signal }) => call<BillingCatalog>('/billing/catalog', { signal }),
  staleTime: 60_000,
});

export const ordersQuery = infiniteQueryOptions({
  queryKey: ['billing', 'orders'],
  queryFn: ({ pageParam, signal }) =>
    call<OrderPage>('/billing/orders', { query: { limit: 10, cursor: pageParam }, signal }),
  initialPageParam: undefined as string | undefined,
  getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
});

export const receiptsQuery = infiniteQueryOptions({
  queryKey: ['billing', 'receipts'],
  queryFn: ({ pageParam, signal }) =>
    call<ReceiptPage>('/billing/receipts', { query: { limit: 10, cursor: pageParam }, signal }),
  initialPageParam: undefined as string | undefined,
  getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
});

const pollMs = 2_000;

/** One order, asked again while it can still change by itself. */
export const orderQuery = (id: string) =>
  queryOptions({
    queryKey: ['billing', 'order', id],
    queryFn: ({ signal }) => call<OrderAnswer>(`/billing/orders/${encodeURIComponent(id)}`, { signal }),
    refetchInterval: ({ state }) => (state.data !== undefined && isOpen(state.data) ? pollMs : false),
  });

export const isOpen = ({ status }: OrderAnswer): boolean => status === 'created' || status === 'pending';

export const billingSettingsQuery = queryOptions({
  queryKey: ['billing', 'settings'],
  queryFn: ({ signal }) => call<BillingSettingsAnswer>('/billing/settings', { signal }),
});

export const placeOrder = (asked: {
  readonly package_id: string;
  readonly rail: RailName;
  readonly save_card?: boolean;
}): Promise<OrderAnswer> => call('/billing/orders', { method: 'POST', body: asked });

export const saveBillingSettings = (settings: BillingSettings): Promise<BillingSettingsAnswer> =>
  call('/billing/settings', { method: 'PUT', body: settings });
