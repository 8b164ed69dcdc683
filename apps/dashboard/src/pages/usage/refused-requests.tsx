import type { RefusalsAnswer } from '@sotto/contract/control/usage';
import type { RefusalKind } from '@sotto/wire';
import { useQuery } from '@tanstack/react-query';
import { type RefusalFilters, refusalsQuery } from '../../api/usage.ts';
import { formatCount, formatCountOf, formatUtcMinute } from '../../format/format.ts';
import { Card, ErrorState } from '../../ui/surface.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { Truncated } from '../../ui/text.tsx';
import type { UsageNames } from './usage-points.ts';

type Refusals = RefusalsAnswer['data'][number];

const kindWords: Readonly<Record<RefusalKind, string>> = {
  balance: 'Balance',
  key_limit: 'Credit limit of the key',
  workspace_budget: 'Budget of the workspace',
  member_budget: 'Budget of the member',
  tag_budget: 'Budget of the tag',
  key_budget: 'Budget of the key',
  requests: 'Requests per minute',
  tokens: 'Tokens per minute',
  model: 'Model not allowed for the key',
  access: 'OpenAI-compatible access off, or another kind of key',
  privacy: 'No provider keeps the privacy floor',
};

interface RefusedRequestsProps extends UsageNames {
  readonly filters: RefusalFilters;
  /** Whether the search names a model, which these counts do not have. */
  readonly isOfAllModels: boolean;
}

/** The requests that were refused before a provider was tried, by hour. Nothing is shown if there were none. */
export function RefusedRequests({ filters, isOfAllModels, nameOf }: RefusedRequestsProps) {
  const { data, error, refetch } = useQuery(refusalsQuery(filters));
  if (error !== null) return <ErrorState error={error} onRetry={() => void refetch()} />;
  if (data === undefined || data.data.length === 0) return null;
  const { data: refusals, next_to: cutAt } = data;
  const total = refusals.reduce((sum, { count }) => sum + count, 0);
  const columns: readonly Column<Refusals>[] = [
    {
      title: 'Hour (UTC)',
      heading: true,
      cell: ({ hour }) => formatUtcMinute(hour),
      sortBy: ({ hour }) => Date.parse(hour),
    },
    { title: 'Refused by', cell: ({ kind, status }) => `${kindWords[kind]} (${status})` },
    { title: 'Key', cell: ({ key_id: key }) => <Truncated text={nameOf(key, 'key')} /> },
    { title: 'Requests', cell: ({ count }) => formatCount(count), sortBy: ({ count }) => count },
  ];
  return (
    <Card
      title={`${formatCountOf(total, 'request')} refused`}
      lead={`Before a provider was tried, so they are not in the list below. Counted by whole hours${
        isOfAllModels ? ', for all models' : ''
      }.${cutNote(filters, cutAt)}`}
    >
      {/* On a phone, it would stand between the filters and the list. */}
      <details open={window.matchMedia('(min-width: 768px)').matches}>
        <summary className="mb-2 min-h-6 cursor-pointer text-sm text-accent">By hour and key</summary>
        <Table
          caption="Refused requests"
          columns={columns}
          rows={refusals}
          rowKey={({ hour, key_id: key, kind }) => `${hour} ${key} ${kind}`}
          pageSize={10}
        />
      </details>
    </Card>
  );
}

function cutNote({ isCut }: RefusalFilters, cutAt: string | null): string {
  if (cutAt !== null) return ` Only since ${formatUtcMinute(cutAt)} (UTC): before, there are more.`;
  return isCut ? ' Only of the last 31 days of this time.' : '';
}
