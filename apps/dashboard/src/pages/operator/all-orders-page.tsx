import type { OperatorOrderPage } from '@sotto/contract/control/operator';
import { useInfiniteQuery } from '@tanstack/react-query';
import { Link, useSearch } from '@tanstack/react-router';
import { addressOf } from '../../api/call.ts';
import { Badge } from '../../ui/badge.tsx';
import { buttonClass, DownloadLink } from '../../ui/button.tsx';
import { Card, Page } from '../../ui/surface.tsx';
import { type Column, PagedTable, usdColumn } from '../../ui/table.tsx';
import { UtcMinute } from '../../ui/text.tsx';
import { railWords, statusWords } from '../billing/billing.ts';
import { daysOfMonth, MonthField } from './month-field.tsx';
import { allOrdersQuery } from './operator-queries.ts';
import { Person } from './spend-table.tsx';

const columns: readonly Column<OperatorOrderPage['data'][number]>[] = [
  { title: 'Ordered (UTC)', heading: true, cell: ({ created_at }) => <UtcMinute at={created_at} /> },
  {
    title: 'Account',
    cell: ({ account_id, account_email }) => <Person id={account_id} email={account_email} />,
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

/** `/operator/orders`: the orders of all accounts, or those of a month. */
export function AllOrdersPage() {
  const { month } = useSearch({ from: '/session/operator/orders' });
  const time = month === undefined ? {} : daysOfMonth(month);
  return (
    <Page
      title="Orders"
      lead="Orders of all accounts."
      actions={
        <DownloadLink href={addressOf('GET /v1/operator/orders', { query: { ...time, format: 'csv' } })}>
          Export
        </DownloadLink>
      }
    >
      <MonthField to="/operator/orders" month={month} offersAll />
      <Card>
        <PagedTable
          caption="Orders of all accounts, newest first"
          columns={columns}
          rowKey={({ id }) => id}
          query={useInfiniteQuery(allOrdersQuery(time))}
          empty={
            month === undefined
              ? { title: 'No orders yet', text: 'Top-ups of all accounts appear here.' }
              : {
                  title: 'No orders in this month',
                  text: 'Months are in UTC.',
                  action: (
                    <Link to="/operator/orders" className={buttonClass()}>
                      All months
                    </Link>
                  ),
                }
          }
        />
      </Card>
    </Page>
  );
}
