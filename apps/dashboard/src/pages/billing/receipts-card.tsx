import type { ReceiptAnswer } from '@sotto/wire';
import { useInfiniteQuery } from '@tanstack/react-query';
import { formatUsd } from '../../format/money.ts';
import { formatInstant } from '../../format/time.ts';
import { Badge } from '../../ui/badge.tsx';
import { PagedTable } from '../../ui/paged-table.tsx';
import { Card } from '../../ui/surface.tsx';
import type { Column } from '../../ui/table.tsx';
import { receiptsQuery } from './billing-queries.ts';
import { ReceiptLinks } from './receipt-links.tsx';

const columns: readonly Column<ReceiptAnswer>[] = [
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
        caption="Your receipts, the newest first"
        columns={columns}
        rowKey={({ number }) => number}
        query={receipts}
        empty={{ title: 'No receipts yet', text: 'Each paid order gets one, numbered, to print or as a PDF.' }}
      />
    </Card>
  );
}
