import type { OperatorOrderPage } from '@sotto/contract/control/operator';
import { useInfiniteQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Badge } from '../../ui/badge.tsx';
import { linkClass } from '../../ui/button.tsx';
import { Card, Page } from '../../ui/surface.tsx';
import { type Column, PagedTable, usdColumn } from '../../ui/table.tsx';
import { Instant } from '../../ui/text.tsx';
import { railWords, statusWords } from '../billing/billing.ts';
import { allOrdersQuery } from './operator-queries.ts';

const columns: readonly Column<OperatorOrderPage['data'][number]>[] = [
  { title: 'Ordered', heading: true, cell: ({ created_at }) => <Instant at={created_at} /> },
  {
    title: 'Account',
    cell: ({ account_id }) => (
      <Link to="/operator/accounts/$accountId" params={{ accountId: account_id }} className={`${linkClass} break-all`}>
        {account_id}
      </Link>
    ),
  },
  {
    title: 'Status',
    cell: ({ status, problem }) => (
      <span className="inline-flex flex-wrap items-center gap-2">
        <Badge tone={statusWords[status].tone}>{statusWords[status].name}</Badge>
        {problem !== null && <span className="text-sm text-muted">{problem.message}</span>}
      </span>
    ),
  },
  { title: 'Paid by', cell: ({ rail }) => railWords[rail].name },
  usdColumn('Total', ({ total }) => total),
];

/** `/operator/orders`: the orders of all accounts. */
export function AllOrdersPage() {
  return (
    <Page title="Orders" lead="Orders of all accounts.">
      <Card>
        <PagedTable
          caption="Orders of all accounts, newest first"
          columns={columns}
          rowKey={({ id }) => id}
          query={useInfiniteQuery(allOrdersQuery)}
          empty={{ title: 'No orders yet', text: 'Top-ups of all accounts appear here.' }}
        />
      </Card>
    </Page>
  );
}
