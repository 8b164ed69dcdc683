import type { InfiniteData, UseInfiniteQueryResult } from '@tanstack/react-query';
import clsx from 'clsx';
import { ArrowDown, ArrowUp, ArrowUpDown } from 'lucide-react';
import { type ReactNode, useRef, useState } from 'react';
import { formatCount, usdDigitsOf } from '../format/format.ts';
import { Button } from './button.tsx';
import { SelectField } from './field.tsx';
import { EmptyState, type EmptyStateProps, ErrorState, TableLoading } from './surface.tsx';
import { Usd } from './text.tsx';

export interface Column<Row> {
  readonly title: string;
  /** `rows` are all that the table shows. */
  readonly cell: (row: Row, rows: readonly Row[]) => ReactNode;
  /** Numbers stand at the right. */
  readonly numeric?: boolean;
  /** On narrow screens this column heads the row's card. */
  readonly heading?: boolean;
  /** The value that the column sorts by. Without it, the column cannot sort. */
  readonly sortBy?: (row: Row) => string | number;
  /** Hides the title from view, as for a column of buttons. */
  readonly hiddenTitle?: boolean;
  /** Whether a row's value deserves a place on narrow screens. Default: always. */
  readonly onNarrow?: (row: Row) => boolean;
}

/** A column of amounts in USD, which have the same number of digits. A row without an amount shows a dash. */
export const usdColumn = <Row,>(
  title: string,
  usdOf: (row: Row) => number | null,
  more: Partial<Column<Row>> = {},
): Column<Row> => ({
  title,
  numeric: true,
  cell: (row, rows) => {
    const usd = usdOf(row);
    return usd === null ? '–' : <Usd usd={usd} digits={usdDigitsOf(rows.map(usdOf))} />;
  },
  ...more,
});

export interface TableProps<Row> {
  /** Names the table for screen readers. */
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly rowKey: (row: Row) => string;
  /** The rows of a page. Default: all are on one. */
  readonly pageSize?: number;
}

interface Sorting {
  readonly title: string;
  readonly isDescending: boolean;
}

/** Rows as a table, which its headings sort. On narrow screens each row is a card of titled values. */
export function Table<Row>({ caption, columns, rows, rowKey, pageSize = Number.POSITIVE_INFINITY }: TableProps<Row>) {
  const [sorting, setSorting] = useState<Sorting>();
  const [wanted, setPage] = useState(0);
  const table = useRef<HTMLTableElement>(null);
  const sortable = columns.filter(({ sortBy }) => sortBy !== undefined);
  const page = Math.max(0, Math.min(wanted, Math.ceil(rows.length / pageSize) - 1));
  const first = page === 0 ? 0 : page * pageSize;
  const shown = sortRows(rows, columns, sorting).slice(first, first + pageSize);
  const sort = (next: Sorting | undefined): void => {
    setSorting(next);
    setPage(0);
  };
  const turn = (to: number): void => {
    setPage(to);
    table.current?.scrollIntoView();
  };
  return (
    <>
      {sortable.length > 0 && rows.length > 1 && (
        <SelectField
          className="mb-3 w-56 md:hidden"
          label="Sort by"
          value={sorting?.title ?? ''}
          choices={[{ value: '', label: 'Default' }, ...sortable.map(({ title }) => ({ value: title, label: title }))]}
          onChange={(title) => sort(title === '' ? undefined : { title, isDescending: false })}
        />
      )}
      <table ref={table} className="block w-full scroll-mt-20 md:table md:border-collapse">
        <caption className="sr-only">{caption}</caption>
        <thead className="sr-only md:not-sr-only md:table-header-group">
          <tr className="md:border-b md:border-line">
            {columns.map((column) => (
              <Heading key={column.title} column={column} sorting={sorting} onSort={sort} />
            ))}
          </tr>
        </thead>
        <tbody className="block space-y-3 md:table-row-group">
          {shown.map((row) => (
            <tr
              key={rowKey(row)}
              className="grid grid-cols-2 gap-x-4 gap-y-2 rounded-xl border border-line p-3 md:table-row md:border-0 md:border-b md:p-0 md:last:border-b-0"
            >
              {columns.map((column) => (
                <td
                  key={column.title}
                  className={clsx(
                    'min-w-0 break-words md:table-cell md:px-3 md:py-1.5 md:align-middle md:text-sm md:first:pl-0 md:last:pr-0',
                    column.numeric === true && 'tabular-nums md:text-right',
                    column.heading === true && 'font-medium max-md:col-span-2',
                    column.hiddenTitle === true && 'max-md:self-end max-md:text-right',
                    column.hiddenTitle === true && countNarrow(columns, row) % 2 === 0 && 'max-md:col-span-2',
                    column.onNarrow?.(row) === false && 'max-md:hidden',
                  )}
                >
                  {column.heading !== true && column.hiddenTitle !== true && (
                    <span aria-hidden className="block text-xs text-muted md:hidden">
                      {column.title}
                    </span>
                  )}
                  {column.cell(row, shown)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length > pageSize && (
        <div className="mt-3 flex flex-wrap items-center gap-2">
          <Button small disabled={page === 0} onClick={() => turn(page - 1)}>
            Previous
          </Button>
          <Button small disabled={first + pageSize >= rows.length} onClick={() => turn(page + 1)}>
            Next
          </Button>
          <p role="status" className="text-sm text-muted tabular-nums">
            {`${formatCount(first + 1)} to ${formatCount(first + shown.length)} of ${formatCount(rows.length)}`}
          </p>
        </div>
      )}
    </>
  );
}

/** The number of titled values in a row's card. Where it is odd, the buttons take the place beside the last one. */
const countNarrow = <Row,>(columns: readonly Column<Row>[], row: Row): number =>
  columns.filter(
    ({ heading, hiddenTitle, onNarrow }) => heading !== true && hiddenTitle !== true && onNarrow?.(row) !== false,
  ).length;

interface HeadingProps<Row> {
  readonly column: Column<Row>;
  readonly sorting: Sorting | undefined;
  readonly onSort: (sorting: Sorting | undefined) => void;
}

/** A column's heading. Where the column can sort, the first press sorts upwards, the second downwards, the third not at all. */
function Heading<Row>({ column: { title, numeric = false, hiddenTitle, sortBy }, sorting, onSort }: HeadingProps<Row>) {
  const own = sorting?.title === title ? sorting : undefined;
  const next =
    own === undefined ? { title, isDescending: false } : own.isDescending ? undefined : { title, isDescending: true };
  const order = own === undefined ? 'none' : own.isDescending ? 'descending' : 'ascending';
  const Arrow = own === undefined ? ArrowUpDown : own.isDescending ? ArrowDown : ArrowUp;
  return (
    <th
      scope="col"
      {...(sortBy === undefined ? {} : { 'aria-sort': order })}
      className={clsx(
        'px-3 py-1.5 text-xs font-medium text-muted first:pl-0 last:pr-0',
        numeric ? 'text-right' : 'text-left',
      )}
    >
      {sortBy === undefined ? (
        <span className={clsx(hiddenTitle === true && 'sr-only')}>{title}</span>
      ) : (
        <button
          type="button"
          className="inline-flex min-h-6 items-center gap-1 hover:text-text"
          onClick={() => onSort(next)}
        >
          {title}
          <Arrow aria-hidden className="size-3.5" />
        </button>
      )}
    </th>
  );
}

function sortRows<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  sorting: Sorting | undefined,
): readonly Row[] {
  const sortBy = columns.find(({ title }) => title === sorting?.title)?.sortBy;
  if (sorting === undefined || sortBy === undefined) return rows;
  const compare = (left: string | number, right: string | number): number =>
    typeof left === 'string' ? left.localeCompare(String(right)) : left - Number(right);
  const direction = sorting.isDescending ? -1 : 1;
  return rows.toSorted((left, right) => direction * compare(sortBy(left), sortBy(right)));
}

interface PagedTableProps<Row> extends Omit<TableProps<Row>, 'rows'> {
  /** Pages of rows, as the service gives them with `next_cursor`. */
  readonly query: UseInfiniteQueryResult<InfiniteData<{ readonly data: readonly Row[] }>>;
  readonly empty: EmptyStateProps;
}

/** A table that loads a page at a time. Shows also that it is loading, failed or empty. */
export function PagedTable<Row>({ query, empty, ...table }: PagedTableProps<Row>) {
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage, isFetchNextPageError } = query;
  if (data === undefined) {
    if (error !== null) return <ErrorState error={error} onRetry={() => void refetch()} />;
    return <TableLoading label={`Loading: ${table.caption}`} columns={table.columns.length} />;
  }
  const rows = data.pages.flatMap((page) => page.data);
  if (rows.length === 0) return <EmptyState {...empty} />;
  return (
    <div className="space-y-4">
      <Table {...table} rows={rows} />
      {error !== null && (
        <ErrorState error={error} onRetry={() => void (isFetchNextPageError ? fetchNextPage() : refetch())} />
      )}
      {hasNextPage && (
        <Button busy={isFetchingNextPage} onClick={() => void fetchNextPage()}>
          Show more
        </Button>
      )}
    </div>
  );
}
