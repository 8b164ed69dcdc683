import type { OrderAnswer, ReceiptAnswer } from '@sotto/contract/control/orders';
import { useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { LoaderCircle } from 'lucide-react';
import { useEffect } from 'react';
import { addressOf } from '../../api/call.ts';
import { formatInstant, formatUsd } from '../../format/format.ts';
import { Badge } from '../../ui/badge.tsx';
import { buttonClass, linkClass } from '../../ui/button.tsx';
import { Card, ErrorState, Notice } from '../../ui/surface.tsx';
import { type Column, PagedTable } from '../../ui/table.tsx';
import { Instant } from '../../ui/text.tsx';
import { creditedWords, isOpen, orderQuery, ordersQuery, railWords, receiptsQuery, statusWords } from './billing.ts';

/** The state of the order that the user has just placed or paid. It updates by itself. */
export function OrderProgress({ orderId, isBackUnpaid }: { orderId: string; isBackUnpaid: boolean }) {
  const { data: order, error, refetch } = useQuery(orderQuery(orderId));
  const client = useQueryClient();
  const status = order?.status;
  useEffect(() => {
    if (status === undefined) return;
    void client.invalidateQueries({ queryKey: ['balance'] });
    void client.invalidateQueries({ queryKey: ['billing', 'orders'] });
    void client.invalidateQueries({ queryKey: ['billing', 'receipts'] });
  }, [status, client]);
  if (error !== null && order === undefined) return <ErrorState error={error} onRetry={() => void refetch()} />;
  if (order === undefined) return <Notice>Looking for your order…</Notice>;
  return <Standing order={order} isBackUnpaid={isBackUnpaid} />;
}

function Standing({ order, isBackUnpaid }: { order: OrderAnswer; isBackUnpaid: boolean }) {
  if (isOpen(order)) {
    return (
      <Notice>
        <div className="flex flex-wrap items-center gap-3">
          {!isBackUnpaid && <LoaderCircle aria-hidden className="size-5 animate-spin text-info" />}
          <p className="min-w-0 flex-1">
            {isBackUnpaid
              ? `Your order of ${formatUsd(order.amount)} is not paid yet.`
              : `Waiting for the payment of ${formatUsd(order.total)}. This page updates by itself.`}
          </p>
          {order.checkout_url !== undefined && (
            <a href={order.checkout_url} className={buttonClass('primary', true)}>
              Continue payment
            </a>
          )}
        </div>
      </Notice>
    );
  }
  if (order.status === 'paid' || order.status === 'refunded') {
    const isPaid = order.status === 'paid';
    return (
      <Notice tone={isPaid ? 'good' : 'info'}>
        <div className="flex flex-wrap items-center gap-3">
          <p className="min-w-0 flex-1">{creditedWords(order)}</p>
          {order.receipt_number !== null && <ReceiptLinks number={order.receipt_number} />}
          {isPaid && (
            <Link to="/playground" className={buttonClass('primary', true)}>
              Ask a question
            </Link>
          )}
        </div>
      </Notice>
    );
  }
  return (
    <Notice tone="warn">
      {order.status === 'expired'
        ? 'The order expired unpaid. A late payment is still credited.'
        : (order.problem?.message ?? 'The order ended, and nothing was credited.')}
    </Notice>
  );
}

const orderColumns: readonly Column<OrderAnswer>[] = [
  { title: 'Ordered', heading: true, cell: ({ created_at }) => <Instant at={created_at} /> },
  {
    title: 'Status',
    cell: ({ status, problem, refunded }) => (
      <span className="inline-flex flex-wrap items-center gap-2">
        <Badge tone={statusWords[status].tone}>{statusWords[status].name}</Badge>
        {refunded > 0 && status !== 'refunded' && <Badge tone="warn">{formatUsd(refunded)} returned</Badge>}
        {problem !== null && <span className="text-sm text-muted">{problem.message}</span>}
      </span>
    ),
  },
  {
    title: 'Paid by',
    cell: ({ rail, automatic }) => (automatic ? `${railWords[rail].name}, auto top-up` : railWords[rail].name),
  },
  { title: 'Credit', numeric: true, cell: ({ amount }) => formatUsd(amount) },
  { title: 'Fee', numeric: true, cell: ({ fee }) => formatUsd(fee) },
  { title: 'Total', numeric: true, cell: ({ total }) => formatUsd(total) },
  {
    title: 'What to do',
    hiddenTitle: true,
    cell: (order) =>
      isOpen(order) ? (
        <Link to="/billing" search={{ order: order.id }} className={linkClass}>
          Follow<span className="sr-only"> this order</span>
        </Link>
      ) : null,
  },
];

export function OrdersCard() {
  const orders = useInfiniteQuery(ordersQuery);
  return (
    <Card title="Orders">
      <PagedTable
        caption="Your orders, newest first"
        columns={orderColumns}
        rowKey={({ id }) => id}
        query={orders}
        empty={{ title: 'No orders yet', text: 'Your top-ups appear here.' }}
      />
    </Card>
  );
}

const receiptColumns: readonly Column<ReceiptAnswer>[] = [
  {
    title: 'Number',
    heading: true,
    cell: ({ number, kind, corrects }) => (
      <span className="inline-flex flex-wrap items-center gap-2">
        {number}
        {kind === 'credit_note' && <Badge tone="warn">Credit note{corrects === null ? '' : ` for ${corrects}`}</Badge>}
      </span>
    ),
  },
  { title: 'Issued', cell: ({ issued_at }) => formatInstant(issued_at) },
  { title: 'Total', numeric: true, cell: ({ total }) => formatUsd(total) },
  { title: 'Read it', hiddenTitle: true, numeric: true, cell: ({ number }) => <ReceiptLinks number={number} /> },
];

export function ReceiptsCard() {
  const receipts = useInfiniteQuery(receiptsQuery);
  return (
    <Card title="Receipts">
      <PagedTable
        caption="Your receipts, newest first"
        columns={receiptColumns}
        rowKey={({ number }) => number}
        query={receipts}
        empty={{ title: 'No receipts yet', text: 'Each paid order has a numbered receipt, to print or as a PDF.' }}
      />
    </Card>
  );
}

/** A receipt as a page to print, and as a PDF. */
function ReceiptLinks({ number }: { number: string }) {
  const address = (format: 'html' | 'pdf'): string =>
    addressOf('GET /v1/billing/receipts/{receiptNumber}', { params: { receiptNumber: number }, query: { format } });
  return (
    <span className="inline-flex gap-1">
      <a href={address('html')} target="_blank" rel="noreferrer" className={buttonClass('quiet', true)}>
        View<span className="sr-only"> receipt {number} in a new tab</span>
      </a>
      <a href={address('pdf')} download className={buttonClass('quiet', true)}>
        PDF<span className="sr-only"> of receipt {number}</span>
      </a>
    </span>
  );
}
