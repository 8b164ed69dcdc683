import type { OperatorSpendAnswer } from '@sotto/contract/control/operator';
import { useInfiniteQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { addDays, dayAt, monthFrom } from '../../format/days.ts';
import { formatCount, formatCountOf, formatMonth } from '../../format/format.ts';
import { linkClass } from '../../ui/button.tsx';
import { type Column, PagedTable, usdColumn } from '../../ui/table.tsx';
import { Truncated, Usd } from '../../ui/text.tsx';
import { type SpendFilters, spendQuery } from './operator-queries.ts';

type SpendRow = OperatorSpendAnswer['data'][number];

/** So many months, with this one. */
export function lastMonths(count: number): Pick<SpendFilters, 'from' | 'to'> {
  const today = dayAt(Date.now());
  return { from: monthFrom(today, 1 - count), to: addDays(today, 1) };
}

/** An account by the address of its person, or by its id. */
export function Person({ id, email }: { id: string; email: string | null }) {
  return (
    <Link to="/operator/accounts/$accountId" params={{ accountId: id }} className={linkClass}>
      <Truncated text={email ?? id} className="md:max-w-64" />
    </Link>
  );
}

const columns: readonly Column<SpendRow>[] = [
  { title: 'Used by', heading: true, cell: (row) => <Person id={row.member_id} email={row.member_email} /> },
  { title: 'Month', cell: ({ month }) => formatMonth(month) },
  { title: 'Workspace', cell: ({ workspace_name }) => <Truncated text={workspace_name} className="md:max-w-48" /> },
  { title: 'Paid by', cell: (row) => <Person id={row.payer_id} email={row.payer_email} /> },
  { title: 'Requests', numeric: true, cell: ({ requests }) => formatCount(requests) },
  usdColumn('Cost', ({ cost }) => cost),
];

/** What each person used in each month and workspace, with the total. */
export function SpendTable({ filters }: { filters: SpendFilters }) {
  const query = useInfiniteQuery(spendQuery(filters));
  const total = query.data?.pages[0]?.total;
  return (
    <div className="space-y-4">
      {total !== undefined && total.requests > 0 && (
        <p className="text-muted">
          In all <Usd usd={total.cost} /> for {formatCountOf(total.requests, 'request')}.
        </p>
      )}
      <PagedTable
        caption="Spend by month, workspace and member"
        columns={columns}
        rowKey={(row) => `${row.month} ${row.workspace_id} ${row.payer_id} ${row.member_id}`}
        query={query}
        empty={{ title: 'No spend', text: 'There were no requests in this time.' }}
      />
    </div>
  );
}
