import type { OrderAnswer, RailName } from '@sotto/contract/control/orders';
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { call } from '../../api/call.ts';
import { byCursor } from '../../api/queries.ts';
import { formatUsd } from '../../format/format.ts';
import type { Tone } from '../../ui/badge.tsx';

export const monthlyGrantQuery = queryOptions({
  queryKey: ['billing', 'grant'],
  queryFn: ({ signal }) => call('GET /v1/billing/grant', { signal }),
});

export const ordersQuery = infiniteQueryOptions({
  queryKey: ['billing', 'orders'],
  queryFn: ({ pageParam, signal }) =>
    call('GET /v1/billing/orders', { query: { limit: 10, cursor: pageParam }, signal }),
  ...byCursor,
});

export const receiptsQuery = infiniteQueryOptions({
  queryKey: ['billing', 'receipts'],
  queryFn: ({ pageParam, signal }) =>
    call('GET /v1/billing/receipts', { query: { limit: 10, cursor: pageParam }, signal }),
  ...byCursor,
});

const pollMs = 2_000;

/** One order, polled while it can still change by itself. */
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

/** Names of the ways to pay. */
export const railWords: Readonly<Record<RailName, { readonly name: string; readonly text: string }>> = {
  card: { name: 'Card', text: 'At Stripe; we never see the card.' },
  crypto: { name: 'Crypto', text: 'At the operator’s BTCPay Server.' },
  test: { name: 'Test', text: 'Pays at once, without money, for testing.' },
};

/** Names of an order's states. */
export const statusWords: Readonly<Record<OrderAnswer['status'], { readonly name: string; readonly tone: Tone }>> = {
  created: { name: 'Opening', tone: 'neutral' },
  pending: { name: 'Waiting for payment', tone: 'info' },
  paid: { name: 'Paid', tone: 'good' },
  failed: { name: 'Failed', tone: 'danger' },
  expired: { name: 'Expired', tone: 'neutral' },
  refunded: { name: 'Refunded', tone: 'warn' },
};

/** The credit of an order that was paid, later returns, and its problem, in words. */
export function creditedWords({ status, amount, refunded, problem }: OrderAnswer): string {
  const credited =
    status === 'refunded'
      ? `Refunded: ${formatUsd(refunded)} was returned, and the credit was taken back.`
      : refunded === 0
        ? `Paid: ${formatUsd(amount)} is in your balance.`
        : `Paid: ${formatUsd(amount)} was credited. Since then, ${formatUsd(refunded)} was returned, and its share of the credit was taken back.`;
  return problem === null ? credited : `${credited} ${problem.message}`;
}
