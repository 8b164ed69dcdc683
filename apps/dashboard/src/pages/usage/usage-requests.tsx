import type { UsagePage } from '@sotto/wire';
import { useInfiniteQuery } from '@tanstack/react-query';
import { Download } from 'lucide-react';
import type { ReactNode } from 'react';
import { type UsageFilters, usageRowsCsv, usageRowsQuery } from '../../api/usage.ts';
import { formatUsd } from '../../format/money.ts';
import { formatCompact, formatCount } from '../../format/numbers.ts';
import { formatInstant } from '../../format/time.ts';
import { Badge, TierBadge } from '../../ui/badge.tsx';
import { buttonClass } from '../../ui/button.tsx';
import { PagedTable } from '../../ui/paged-table.tsx';
import { Card } from '../../ui/surface.tsx';
import type { Column } from '../../ui/table.tsx';
import type { UsageNames } from './names.ts';

type Row = UsagePage['data'][number];

/** Requests one by one, newest first. */
export function UsageRequests({ filters, nameOf }: UsageNames & { readonly filters: UsageFilters }) {
  const rows = useInfiniteQuery(usageRowsQuery(filters));
  return (
    <Card
      title="Requests"
      lead="To the minute, in your time zone."
      actions={
        <a href={usageRowsCsv(filters)} download className={buttonClass('plain', true)}>
          <Download aria-hidden className="size-4" />
          All of these as CSV
        </a>
      }
    >
      <PagedTable
        caption="Requests"
        columns={columnsFor(nameOf)}
        query={rows}
        rowKey={({ id }) => id}
        empty={{ title: 'No requests yet', text: 'They are booked seconds after they end.' }}
      />
      {rows.data !== undefined && (
        <p role="status" className="mt-3 text-sm text-muted">
          {formatCount(rows.data.pages.reduce((sum, { data }) => sum + data.length, 0))}{' '}
          {rows.hasNextPage ? 'so far' : 'in all'}
        </p>
      )}
    </Card>
  );
}

const columnsFor = (nameOf: UsageNames['nameOf']): readonly Column<Row>[] => [
  {
    title: 'Request',
    heading: true,
    cell: ({ at, model, operation }) => (
      <>
        <span className="flex flex-wrap items-center gap-x-2">
          <span className="min-w-0 break-words">{model}</span>
          {operation !== 'chat' && <Badge>{operation}</Badge>}
        </span>
        <time dateTime={at} className="block text-xs font-normal text-muted">
          {formatInstant(at)}
        </time>
      </>
    ),
  },
  {
    title: 'Provider',
    cell: ({ provider, privacy_class }) =>
      provider === null ? (
        <span className="text-muted">none</span>
      ) : (
        <span className="inline-flex flex-wrap items-center gap-x-2 max-md:justify-end">
          <span className="break-words">{provider}</span>
          {privacy_class !== null && <TierBadge tier={privacy_class} />}
        </span>
      ),
  },
  { title: 'Key', cell: ({ key_id }) => <span className="break-words">{nameOf(key_id, 'key')}</span> },
  {
    title: 'Tokens in',
    numeric: true,
    cell: ({ prompt_tokens, cached_tokens }) => (
      <Count of={prompt_tokens} note={cached_tokens > 0 ? `${formatCompact(cached_tokens)} cached` : undefined} />
    ),
  },
  {
    title: 'Tokens out',
    numeric: true,
    cell: ({ completion_tokens, reasoning_tokens }) => (
      <Count
        of={completion_tokens}
        note={reasoning_tokens > 0 ? `${formatCompact(reasoning_tokens)} reasoning` : undefined}
      />
    ),
  },
  { title: 'Cost', numeric: true, cell: ({ cost }) => formatUsd(cost) },
  { title: 'How it went', cell: (row) => <Marks row={row} /> },
];

function Count({ of: count, note }: { of: number; note: string | undefined }) {
  return (
    <>
      {formatCount(count)}
      {note !== undefined && <span className="block text-xs whitespace-nowrap text-muted">{note}</span>}
    </>
  );
}

function Marks({ row: { status, estimated, fallback, attempts } }: { row: Row }) {
  const marks: ReactNode[] = [];
  if (status === 'failed') {
    marks.push(
      <Badge key="failed" tone="danger">
        Failed
      </Badge>,
    );
  }
  if (status === 'cancelled') {
    marks.push(
      <span key="cancelled" title="The client left before the end; charged is what was produced until then.">
        <Badge tone="warn">Cancelled</Badge>
      </span>,
    );
  }
  if (estimated) {
    marks.push(
      <span key="estimated" title="The provider told no usage: tokens were counted here.">
        <Badge tone="info">Estimated</Badge>
      </span>,
    );
  }
  if (attempts > 1) {
    marks.push(
      <span key="attempts" title={fallback ? 'Another provider than the first one answered.' : undefined}>
        <Badge>{`${attempts} attempts`}</Badge>
      </span>,
    );
  }
  return (
    <span className="inline-flex flex-wrap gap-1">
      {marks.length === 0 ? <span className="text-sm text-muted">Completed</span> : marks}
    </span>
  );
}
