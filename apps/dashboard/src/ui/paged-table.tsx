import type { InfiniteData, UseInfiniteQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Button } from './button.tsx';
import { Loading } from './skeleton.tsx';
import { EmptyState, ErrorState } from './surface.tsx';
import { Table, type TableProps } from './table.tsx';

export interface PagedTableProps<Row> extends Omit<TableProps<Row>, 'rows'> {
  /** Pages of rows, as the service gives them with `next_cursor`. */
  readonly query: UseInfiniteQueryResult<InfiniteData<{ readonly data: readonly Row[] }>>;
  readonly empty: { readonly title: string; readonly text: ReactNode; readonly action?: ReactNode };
}

/** A table that grows by a page at a time, with all that it can be meanwhile: loading, failed, empty. */
export function PagedTable<Row>({ query, empty, ...table }: PagedTableProps<Row>) {
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = query;
  if (data === undefined) {
    if (error !== null) return <ErrorState error={error} onRetry={() => void refetch()} />;
    return <Loading label={`Loading: ${table.caption}`} />;
  }
  const rows = data.pages.flatMap((page) => page.data);
  if (rows.length === 0) return <EmptyState {...empty} />;
  return (
    <div className="space-y-4">
      <Table {...table} rows={rows} />
      {error !== null && <ErrorState error={error} onRetry={() => void fetchNextPage()} />}
      {hasNextPage && (
        <Button busy={isFetchingNextPage} onClick={() => void fetchNextPage()}>
          Show more
        </Button>
      )}
    </div>
  );
}
