import type { OrderAnswer } from '@sotto/wire';
import { useInfiniteQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { formatUsd } from '../../format/money.ts';
import { Badge } from '../../ui/badge.tsx';
import { Instant } from '../../ui/instant.tsx';
import { PagedTable } from '../../ui/paged-table.tsx';
import { Card } from '../../ui/surface.tsx';
import type { Column } from '../../ui/table.tsx';
import { isOpen, ordersQuery } from './billing-queries.ts';
import { railWords, statusWords } from './order-words.ts';

const columns: readonly Column<OrderAnswer>[] = [
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
        <Link to="/billing" search={{ order: order.id }} className="text-accent underline underline-offset-2">
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
        caption="Your orders, the newest first"
        columns={columns}
        rowKey={({ id }) => id}
        query={orders}
        empty={{ title: 'No orders yet', text: 'What you buy above is listed here.' }}
      />
    </Card>
  );
}
