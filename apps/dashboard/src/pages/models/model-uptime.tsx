import type { UptimeAnswer } from '@sotto/wire';
import { useQuery } from '@tanstack/react-query';
import { uptimeQuery } from '../../api/uptime.ts';
import { formatCount, formatMs, formatShare } from '../../format/numbers.ts';
import { formatHour, formatInstant } from '../../format/time.ts';
import { TierBadge } from '../../ui/badge.tsx';
import { Plot } from '../../ui/plot.tsx';
import { Loading } from '../../ui/skeleton.tsx';
import { Card, ErrorState } from '../../ui/surface.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { namedRoutes, pointsOf, type RouteUptime } from './uptime-points.ts';

/** What the requests of the last 24 hours say of a model's routes, where they are enough to say anything. */
export function ModelUptime({ model }: { model: string }) {
  const { data: uptime, error, refetch } = useQuery(uptimeQuery(model));
  return (
    <Card
      title="The last 24 hours"
      lead="Counted from requests as they pass, without content or accounts. Nothing is said of fewer than 20 requests."
    >
      {uptime === undefined ? (
        error === null ? (
          <Loading label="Measurements are loading" lines={6} />
        ) : (
          <ErrorState error={error} onRetry={() => void refetch()} />
        )
      ) : (
        <Measured uptime={uptime} />
      )}
    </Card>
  );
}

function Measured({ uptime }: { uptime: UptimeAnswer }) {
  const routes = namedRoutes(uptime);
  const isMeasured = routes.some(({ success_rate }) => success_rate !== null);
  // The same routes in each plot, so that each has one colour.
  const drawn = routes.filter(({ series }) => series.some(({ success_rate }) => success_rate !== null));
  const plots = figures.filter(({ figure }) =>
    drawn.some(({ series }) => series.some((hour) => hour[figure] !== null)),
  );
  return (
    <div className="space-y-6">
      <Table caption="Routes in the last 24 hours" columns={columns} rows={routes} rowKey={({ id }) => id} />
      {plots.length > 0 ? (
        <div className="grid gap-6 xl:grid-cols-2">
          {plots.map(({ figure, ...plot }) => (
            <Plot
              key={figure}
              {...plot}
              kind="lines"
              series={drawn.map(({ id, name }) => ({ id, name }))}
              points={pointsOf(drawn, figure)}
              formatX={formatInstant}
              formatTick={formatHour}
            />
          ))}
        </div>
      ) : (
        <p className="text-sm text-muted">
          {isMeasured
            ? 'No single hour had 20 requests, so there is nothing to draw yet.'
            : 'Fewer than 20 requests on every route: too few to say anything of them.'}
        </p>
      )}
    </div>
  );
}

const figures = [
  {
    figure: 'success_rate',
    title: 'Success rate',
    unit: 'share of requests, by hour',
    formatValue: formatShare,
    domain: [0, 1],
  },
  { figure: 'ttft_p50_ms', title: 'Time to first token', unit: 'median, by hour', formatValue: formatMs },
] as const;

const tooFew = <span className="text-muted">too few</span>;

const columns: readonly Column<RouteUptime>[] = [
  { title: 'Route', heading: true, cell: ({ name }) => <span className="break-all">{name}</span> },
  { title: 'Tier', cell: (route) => <TierBadge tier={route.privacy_class} /> },
  { title: 'Requests', numeric: true, cell: ({ requests }) => formatCount(requests) },
  {
    title: 'Success',
    numeric: true,
    cell: ({ success_rate }) => (success_rate === null ? tooFew : formatShare(success_rate)),
  },
  {
    title: 'First token, median',
    numeric: true,
    cell: ({ ttft_ms }) => (ttft_ms === null ? tooFew : formatMs(ttft_ms.p50)),
  },
  {
    title: 'Slowest tenth',
    numeric: true,
    cell: ({ ttft_ms }) => (ttft_ms === null ? tooFew : `over ${formatMs(ttft_ms.p90)}`),
  },
  {
    title: 'Tokens per second',
    numeric: true,
    cell: ({ throughput_tps }) => (throughput_tps === null ? tooFew : formatCount(throughput_tps.p50)),
  },
];
