import clsx from 'clsx';
import type { ReactNode } from 'react';

export interface Column<Row> {
  readonly title: string;
  readonly cell: (row: Row) => ReactNode;
  /** Numbers stand at the right. */
  readonly numeric?: boolean;
  /** On narrow screens this column heads the row's card. */
  readonly heading?: boolean;
  /** The title is for readers only, as of a column of buttons. */
  readonly hiddenTitle?: boolean;
}

export interface TableProps<Row> {
  /** What the table is of, for readers. */
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly rowKey: (row: Row) => string;
}

/** Rows as a table; on narrow screens each row is a card of titled lines. */
export function Table<Row>({ caption, columns, rows, rowKey }: TableProps<Row>) {
  return (
    <table className="block w-full md:table md:border-collapse">
      <caption className="sr-only">{caption}</caption>
      <thead className="sr-only md:not-sr-only md:table-header-group">
        <tr className="md:border-b md:border-line">
          {columns.map((column) => (
            <th
              key={column.title}
              scope="col"
              className={clsx(
                'px-3 py-2 text-sm font-medium text-muted first:pl-0 last:pr-0',
                column.numeric === true ? 'text-right' : 'text-left',
              )}
            >
              <span className={clsx(column.hiddenTitle === true && 'sr-only')}>{column.title}</span>
            </th>
          ))}
        </tr>
      </thead>
      <tbody className="block space-y-3 md:table-row-group">
        {rows.map((row) => (
          <tr
            key={rowKey(row)}
            className="block rounded-xl border border-line p-3 md:table-row md:border-0 md:border-b md:p-0 md:last:border-b-0"
          >
            {columns.map((column) => (
              <td
                key={column.title}
                className={clsx(
                  'flex items-baseline justify-between gap-4 py-1 md:table-cell md:px-3 md:py-2.5 md:align-middle md:first:pl-0 md:last:pr-0',
                  column.numeric === true && 'tabular-nums md:text-right',
                  column.hiddenTitle === true && 'max-md:justify-end',
                  column.heading === true && 'font-medium max-md:mb-1 max-md:border-b max-md:border-line max-md:pb-2',
                )}
              >
                {column.heading !== true && column.hiddenTitle !== true && (
                  <span aria-hidden className="shrink-0 text-sm text-muted md:hidden">
                    {column.title}
                  </span>
                )}
                <span className="min-w-0 max-md:text-right max-md:first:text-left">{column.cell(row)}</span>
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
