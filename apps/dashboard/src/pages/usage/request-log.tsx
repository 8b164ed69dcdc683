import { useInfiniteQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import clsx from 'clsx';
import { Columns3 } from 'lucide-react';
import { useMemo, useState, useSyncExternalStore } from 'react';
import { type UsageRowFilters, usageRowsCsv, usageRowsQuery } from '../../api/usage.ts';
import { formatCount, formatCountOf } from '../../format/format.ts';
import { Button, buttonClass, DownloadLink } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Menu } from '../../ui/menu.tsx';
import { Card, EmptyState, ErrorState, Loading } from '../../ui/surface.tsx';
import { RequestFacts } from './request-facts.tsx';
import { allColumns, type ColumnId, columnIds, type RowNames, Rows } from './request-rows.tsx';
import { useArrivals } from './use-arrivals.ts';

interface RequestLogProps extends RowNames {
  readonly filters: UsageRowFilters;
  readonly isNarrowed: boolean;
  readonly onClear: () => void;
}

/** Requests one by one, newest first: a list that scrolls, and the chosen request beside it. */
export function RequestLog({ filters, isNarrowed, onClear, nameOf, owners }: RequestLogProps) {
  const query = useInfiniteQuery(usageRowsQuery(filters));
  const { data, error, refetch, hasNextPage } = query;
  const rows = useMemo(() => data?.pages.flatMap((page) => page.data) ?? [], [data]);
  const [columns, toggleColumn] = useColumns();
  // The panel says these, and the list needs the space.
  const beside = useMemo(() => columns.filter((id) => id !== 'provider' && id !== 'tier'), [columns]);
  const isNarrow = useMedia('(max-width: 767px)');
  // On narrower screens the list has no space beside it.
  const isWide = useMedia('(min-width: 1280px)');
  const [openId, setOpenId] = useState<string>();
  const opened = rows.find(({ id }) => id === openId);
  const [isAtTop, setAtTop] = useState(true);
  const arrived = useArrivals(filters, rows, isAtTop && openId === undefined);
  const keptFrom = data?.pages[0]?.kept_from ?? null;
  if (data === undefined) {
    if (error !== null) return <ErrorState error={error} onRetry={() => void refetch()} />;
    return <Loading label="Requests are loading" lines={12} />;
  }
  const facts = opened && <RequestFacts row={opened} nameOf={nameOf} />;
  return (
    <div className="space-y-3">
      <div className="flex flex-wrap items-center justify-between gap-3">
        <p role="status" className="text-sm text-muted">
          {hasNextPage ? `The newest ${formatCount(rows.length)} requests` : formatCountOf(rows.length, 'request')}
        </p>
        <div className="flex flex-wrap gap-2">
          {arrived !== undefined && (
            <Button small look="primary" onClick={arrived.show}>
              {`Show ${arrived.isMore ? 'more than ' : ''}${formatCountOf(arrived.count, 'new request')}`}
            </Button>
          )}
          <span className="max-md:hidden">
            <Menu
              trigger={
                <Button small icon={<Columns3 aria-hidden className="size-4" />}>
                  Columns
                </Button>
              }
              groups={[
                columnIds.map((id) => ({
                  label: allColumns[id].title,
                  checked: columns.includes(id),
                  onSelect: () => toggleColumn(id),
                })),
              ]}
            />
          </span>
          <DownloadLink href={usageRowsCsv(filters)}>Export requests with ids</DownloadLink>
        </div>
      </div>
      {rows.length === 0 ? (
        <EmptyState
          title={isNarrowed ? 'No requests match' : 'No requests in this time'}
          text="A request appears seconds after it ends, if a provider was tried for it."
          action={
            isNarrowed ? (
              <Button onClick={onClear}>Clear filters</Button>
            ) : (
              <Link to="/playground" className={buttonClass('primary')}>
                Send a request
              </Link>
            )
          }
        />
      ) : (
        <div className={clsx(facts !== undefined && isWide && 'grid grid-cols-[minmax(0,1fr)_20rem] gap-4')}>
          <Rows
            {...{ query, rows, openId, isNarrow, nameOf, owners }}
            columns={facts !== undefined && isWide ? beside : columns}
            onOpen={setOpenId}
            onTop={setAtTop}
          />
          {facts !== undefined && isWide && (
            <aside aria-label="Request">
              <Card
                title="Request"
                actions={
                  <Button small onClick={() => setOpenId(undefined)}>
                    Close
                  </Button>
                }
              >
                {facts}
              </Card>
            </aside>
          )}
        </div>
      )}
      {!isWide && facts !== undefined && (
        <Dialog title="Request" onClose={() => setOpenId(undefined)}>
          {facts}
        </Dialog>
      )}
      {keptFrom !== null &&
        filters.hours === undefined &&
        filters.minutes === undefined &&
        filters.from < keptFrom.slice(0, 10) && (
          <p className="text-sm text-muted">
            Requests before {keptFrom.slice(0, 10)} (UTC) were deleted. The totals still count them.
          </p>
        )}
    </div>
  );
}

const columnsKey = 'sotto.requests.columns';
const usualColumns: readonly ColumnId[] = ['at', 'status', 'model', 'provider', 'tier', 'tokens', 'cost'];

/** The chosen columns, which this browser keeps, and a function that shows or hides one. The last one stays. */
function useColumns(): [readonly ColumnId[], (id: ColumnId) => void] {
  const [chosen, setChosen] = useState(() => {
    const kept = localStorage.getItem(columnsKey)?.split(',') ?? usualColumns;
    const known = columnIds.filter((id) => kept.includes(id));
    return known.length === 0 ? usualColumns : known;
  });
  const toggle = (id: ColumnId): void => {
    const next = columnIds.filter((one) => (one === id ? !chosen.includes(id) : chosen.includes(one)));
    if (next.length === 0) return;
    localStorage.setItem(columnsKey, next.join());
    setChosen(next);
  };
  return [chosen, toggle];
}

/** Whether the screen matches a media query. */
function useMedia(query: string): boolean {
  const media = useMemo(() => window.matchMedia(query), [query]);
  return useSyncExternalStore(
    (changed) => {
      media.addEventListener('change', changed);
      return () => media.removeEventListener('change', changed);
    },
    () => media.matches,
  );
}
