import type { UseInfiniteQueryResult } from '@tanstack/react-query';
import clsx from 'clsx';
import { type KeyboardEvent, memo, type ReactNode, useEffect, useLayoutEffect, useRef, useState } from 'react';
import type { UsageRow } from '../../api/usage.ts';
import { formatCompact, formatCount } from '../../format/format.ts';
import { TierBadge } from '../../ui/badge.tsx';
import { CutEdge, useIsCut } from '../../ui/cut-edge.tsx';
import { ErrorState } from '../../ui/surface.tsx';
import { Truncated, Usd, UtcMinute } from '../../ui/text.tsx';
import { StatusBadge } from './request-facts.tsx';
import type { UsageNames } from './usage-points.ts';

/** Names the subjects of a row. */
export interface RowNames extends UsageNames {
  /** The member who created each key. */
  readonly owners: ReadonlyMap<string, string>;
}

interface LogColumn {
  readonly title: string;
  /** In rem. The column `model` has at least so much, and what the others leave. */
  readonly width: number;
  readonly numeric?: boolean;
  readonly cell: (row: UsageRow, names: RowNames) => ReactNode;
}

/** The columns, in their order. */
export const allColumns = {
  at: {
    title: 'Minute (UTC)',
    width: 9.25,
    cell: ({ at }) => <UtcMinute at={at} hasYear={false} />,
  },
  status: { title: 'Status', width: 8, cell: (row) => <StatusBadge row={row} /> },
  model: { title: 'Model', width: 7.75, cell: ({ model }) => <Truncated text={model} className="md:max-w-full" /> },
  operation: { title: 'Operation', width: 7, cell: ({ operation }) => operation },
  provider: {
    title: 'Provider',
    width: 5.5,
    cell: ({ provider }) => <Truncated text={provider ?? 'none'} className="md:max-w-full" />,
  },
  tier: {
    title: 'Provider tier',
    width: 7.75,
    cell: ({ privacy_class: tier }) => (tier === null ? null : <TierBadge tier={tier} />),
  },
  key: {
    title: 'Key',
    width: 9,
    cell: ({ key_id: key }, { nameOf }) => <Truncated text={nameOf(key, 'key')} className="md:max-w-full" />,
  },
  member: {
    title: 'Member',
    width: 9,
    cell: ({ key_id: key }, { nameOf, owners }) => {
      const owner = owners.get(key);
      return owner === undefined ? '–' : <Truncated text={nameOf(owner, 'member')} className="md:max-w-full" />;
    },
  },
  attempts: { title: 'Attempts', width: 6, numeric: true, cell: ({ attempts }) => formatCount(attempts) },
  tokens: {
    title: 'Tokens',
    width: 7.5,
    numeric: true,
    cell: ({ prompt_tokens: prompt, completion_tokens: completion }) => (
      <span title={`${formatCount(prompt)} in, ${formatCount(completion)} out`}>
        {formatCompact(prompt)} → {formatCompact(completion)}
      </span>
    ),
  },
  cost: { title: 'Cost', width: 6.5, numeric: true, cell: ({ cost }) => <Usd usd={cost} digits="parts" /> },
} as const satisfies Readonly<Record<string, LogColumn>>;
export type ColumnId = keyof typeof allColumns;
export const columnIds = Object.keys(allColumns) as readonly ColumnId[];

interface RowsProps extends RowNames {
  readonly query: Pick<
    UseInfiniteQueryResult,
    'hasNextPage' | 'isFetchingNextPage' | 'error' | 'fetchNextPage' | 'isFetchNextPageError' | 'refetch'
  >;
  readonly rows: readonly UsageRow[];
  readonly columns: readonly ColumnId[];
  readonly openId: string | undefined;
  readonly isNarrow: boolean;
  readonly onOpen: (id: string | undefined) => void;
  /** Called when the list reaches its top, or leaves it. */
  readonly onTop: (isAtTop: boolean) => void;
}

/** Pixels. A row has this height whatever it shows, so that only those on the screen are drawn. */
const headHeight = 36;
const heightOf = (isNarrow: boolean): number => (isNarrow ? 56 : 36);
const overscan = 8;
/** The next page is loaded when so few rows are left below the screen. */
const loadAhead = 100;

/** The rows on the screen, in a place of the height of all. Arrow keys move, Enter opens, Escape closes. */
export function Rows({ query, rows, columns, openId, isNarrow, nameOf, owners, onOpen, onTop }: RowsProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const isCut = useIsCut(scroller);
  const [top, setTop] = useState(0);
  const [active, setActive] = useState(0);
  const wantsFocus = useRef(false);
  const height = heightOf(isNarrow);
  const { hasNextPage, isFetchingNextPage, error, fetchNextPage, isFetchNextPageError, refetch } = query;
  const first = Math.max(0, Math.min(Math.floor(top / height), rows.length - 1) - overscan);
  const last = Math.min(rows.length, Math.ceil((top + window.innerHeight) / height) + overscan);
  const tabStop = active >= first && active < last ? active : first;

  useEffect(() => {
    if (last + loadAhead >= rows.length && hasNextPage && !isFetchingNextPage && error === null) void fetchNextPage();
  }, [last, rows.length, hasNextPage, isFetchingNextPage, error, fetchNextPage]);

  useLayoutEffect(() => {
    if (!wantsFocus.current) return;
    wantsFocus.current = false;
    const row = scroller.current?.querySelector(`[data-index="${active}"]`);
    if (row instanceof HTMLElement) row.focus({ preventScroll: true });
  });

  /** Makes a row the active one, and scrolls as little as shows it whole. */
  const moveTo = (wanted: number): void => {
    const place = scroller.current;
    if (place === null) return;
    const to = Math.max(0, Math.min(wanted, rows.length - 1));
    const lowest = to * height;
    const highest = lowest + height + (isNarrow ? 0 : headHeight) - place.clientHeight;
    place.scrollTop = Math.max(highest, Math.min(place.scrollTop, lowest));
    wantsFocus.current = true;
    setTop(place.scrollTop);
    setActive(to);
    if (openId !== undefined) onOpen(rows[to]?.id);
  };
  const page = (): number => Math.max(1, Math.floor((scroller.current?.clientHeight ?? 0) / height) - 2);
  const onKeyDown = (event: KeyboardEvent): void => {
    const at = Number((event.target as HTMLElement).closest<HTMLElement>('[data-index]')?.dataset.index ?? active);
    const target = {
      arrowdown: at + 1,
      arrowup: at - 1,
      pagedown: at + page(),
      pageup: at - page(),
      home: 0,
      end: rows.length - 1,
    }[event.key.toLowerCase()];
    const opens = event.key === 'Enter' ? rows[at]?.id : undefined;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (target !== undefined) moveTo(target);
    else if (opens !== undefined || event.key === 'Escape') onOpen(opens);
    else return;
    event.preventDefault();
  };

  return (
    <div className="relative min-w-0">
      {isCut && <CutEdge />}
      <div
        ref={scroller}
        onScroll={({ currentTarget }) => {
          setTop(currentTarget.scrollTop);
          onTop(currentTarget.scrollTop === 0);
        }}
        // The browser must not correct the place when rows are taken out above it.
        className="h-[max(20rem,calc(100dvh-19rem))] overflow-auto rounded-2xl border border-line bg-surface [overflow-anchor:none]"
      >
        {/* Its height does not depend on which rows are drawn. Otherwise the browser would now and then cut off the place. */}
        <div style={{ height: rows.length * height + (isNarrow ? 0 : headHeight) }}>
          <table
            // biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: its rows take the focus and keys
            role="grid"
            aria-label="Requests"
            aria-rowcount={hasNextPage ? -1 : rows.length + 1}
            onKeyDown={onKeyDown}
            style={{
              top: first * height,
              ...(isNarrow ? {} : { minWidth: `${columns.reduce((sum, id) => sum + allColumns[id].width, 0)}rem` }),
            }}
            className="relative w-full table-fixed border-separate border-spacing-0 text-sm"
          >
            <thead className="max-md:sr-only">
              <tr>
                {columns.map((id) => {
                  const { title, width, numeric = false }: LogColumn = allColumns[id];
                  return (
                    <th
                      key={id}
                      scope="col"
                      style={id === 'model' ? {} : { width: `${width}rem` }}
                      className={clsx(
                        'sticky top-0 z-10 h-9 border-b border-line bg-surface px-2 font-medium text-muted first:pl-3 last:pr-3',
                        numeric ? 'text-right' : 'text-left',
                      )}
                    >
                      {title}
                    </th>
                  );
                })}
              </tr>
            </thead>
            <tbody>
              {rows.slice(first, last).map((row, offset) => {
                const index = first + offset;
                return (
                  <RequestRow
                    key={row.id}
                    {...{ row, index, columns, isNarrow, nameOf, owners, onOpen }}
                    isOpen={row.id === openId}
                    isTabStop={index === tabStop}
                    onActive={setActive}
                  />
                );
              })}
            </tbody>
          </table>
        </div>
        {isFetchingNextPage && (
          <p role="status" className="p-3 text-center text-sm text-muted">
            Loading more…
          </p>
        )}
      </div>
      {error !== null && (
        <div className="mt-3">
          <ErrorState error={error} onRetry={() => void (isFetchNextPageError ? fetchNextPage() : refetch())} />
        </div>
      )}
    </div>
  );
}

interface RequestRowProps extends RowNames, Pick<RowsProps, 'columns' | 'isNarrow' | 'onOpen'> {
  readonly row: UsageRow;
  readonly index: number;
  readonly isOpen: boolean;
  readonly isTabStop: boolean;
  readonly onActive: (index: number) => void;
}

/** While one scrolls, only the rows that come into sight are rendered. */
const RequestRow = memo(function RequestRow(props: RequestRowProps) {
  const { row, index, isOpen, isTabStop, columns, isNarrow, nameOf, owners, onOpen, onActive } = props;
  return (
    <tr
      data-index={index}
      aria-rowindex={index + 2}
      aria-selected={isOpen}
      tabIndex={isTabStop ? 0 : -1}
      onFocus={() => onActive(index)}
      onClick={() => onOpen(isOpen ? undefined : row.id)}
      className={clsx('cursor-pointer focus-visible:-outline-offset-2', isOpen ? 'bg-accent-soft' : 'hover:bg-raised')}
    >
      {isNarrow ? (
        <td className="h-14 border-b border-line px-3 py-0">
          <CompactRow row={row} />
        </td>
      ) : (
        columns.map((id) => {
          const { numeric = false, cell }: LogColumn = allColumns[id];
          return (
            <td
              key={id}
              className={clsx(
                'h-9 truncate border-b border-line px-2 py-0 whitespace-nowrap first:pl-3 last:pr-3',
                numeric && 'text-right tabular-nums',
              )}
            >
              {cell(row, { nameOf, owners })}
            </td>
          );
        })
      )}
    </tr>
  );
});

function CompactRow({ row }: { row: UsageRow }) {
  const { at, model, provider, cost } = row;
  return (
    <span className="block">
      <span className="flex items-center justify-between gap-3">
        <Truncated text={model} className="min-w-0 font-medium md:max-w-full" />
        <span className="tabular-nums">
          <Usd usd={cost} digits="parts" />
        </span>
      </span>
      <span className="flex items-center justify-between gap-3 text-xs text-muted">
        <span title={provider ?? undefined} className="truncate">
          <UtcMinute at={at} hasYear={false} />
          {provider !== null && ` · ${provider}`}
        </span>
        <StatusBadge row={row} />
      </span>
    </span>
  );
}
