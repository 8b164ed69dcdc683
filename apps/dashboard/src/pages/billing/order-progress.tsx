import type { OrderAnswer } from '@sotto/wire';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { LoaderCircle } from 'lucide-react';
import { useEffect } from 'react';
import { formatUsd } from '../../format/money.ts';
import { buttonClass } from '../../ui/button.tsx';
import { ErrorState, Notice } from '../../ui/surface.tsx';
import { isOpen, orderQuery } from './billing-queries.ts';
import { ReceiptLinks } from './receipt-links.tsx';

/** How the order that one has just placed, or come back from paying, stands; it follows by itself. */
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
              : `Waiting for the payment of ${formatUsd(order.total)}. This page follows by itself.`}
          </p>
          {order.checkout_url !== undefined && (
            <a href={order.checkout_url} className={buttonClass('primary', true)}>
              Go on paying
            </a>
          )}
        </div>
      </Notice>
    );
  }
  if (order.status === 'paid') {
    return (
      <Notice tone="good">
        <div className="flex flex-wrap items-center gap-3">
          <p className="min-w-0 flex-1">
            Paid: {formatUsd(order.amount)} are in your balance.
            {order.problem !== null && ` ${order.problem.message}`}
          </p>
          {order.receipt_number !== null && <ReceiptLinks number={order.receipt_number} />}
        </div>
      </Notice>
    );
  }
  return (
    <Notice tone="warn">
      {order.status === 'expired'
        ? 'The order expired unpaid. A payment that still comes is credited.'
        : (order.problem?.message ?? 'The order ended without a credit.')}
    </Notice>
  );
}
