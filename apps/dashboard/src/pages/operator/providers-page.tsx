import type { ProviderListAnswer } from '@sotto/contract/control/operator';
import { useQuery } from '@tanstack/react-query';
import { addressOf } from '../../api/call.ts';
import { formatCount, formatMs, formatShare } from '../../format/format.ts';
import { Badge } from '../../ui/badge.tsx';
import { DownloadLink } from '../../ui/button.tsx';
import { Card, Loaded, Page } from '../../ui/surface.tsx';
import { type Column, Table, usdColumn } from '../../ui/table.tsx';
import { providersQuery } from './operator-queries.ts';

const columns: readonly Column<ProviderListAnswer['data'][number]>[] = [
  { title: 'Provider', heading: true, cell: ({ provider }) => provider },
  {
    title: 'Routes',
    cell: ({ routes, penalized_routes: penalized }) => (
      <span className="inline-flex flex-wrap items-center gap-2">
        {formatCount(routes)}
        {penalized > 0 && <Badge tone="warn">{formatCount(penalized)} demoted</Badge>}
      </span>
    ),
  },
  { title: 'Requests in 24 h', numeric: true, cell: ({ requests }) => formatCount(requests) },
  {
    title: 'Success',
    numeric: true,
    cell: ({ success_rate }) => (success_rate === null ? '–' : formatShare(success_rate)),
  },
  {
    title: 'First token, p50',
    numeric: true,
    cell: ({ ttft_ms }) => (ttft_ms === null ? '–' : formatMs(ttft_ms.p50)),
  },
  {
    title: 'First token, p90',
    numeric: true,
    cell: ({ ttft_ms }) => (ttft_ms === null ? '–' : formatMs(ttft_ms.p90)),
  },
  usdColumn('Charged this month', ({ spent_this_month_usd }) => spent_this_month_usd),
];

/** `/operator/providers`: the health of the providers, and what customers paid for their answers. */
export function ProvidersPage() {
  return (
    <Page
      title="Providers"
      lead="Health as the brokers measure it, and what accounts were charged this month (UTC)."
      actions={
        <DownloadLink href={addressOf('GET /v1/operator/providers', { query: { format: 'csv' } })}>Export</DownloadLink>
      }
    >
      <Loaded query={useQuery(providersQuery)} label="Providers are loading">
        {(providers) => (
          <Card>
            <Table caption="Providers" columns={columns} rows={providers} rowKey={({ provider }) => provider} />
          </Card>
        )}
      </Loaded>
    </Page>
  );
}
