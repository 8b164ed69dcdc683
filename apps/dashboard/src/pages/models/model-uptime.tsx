import type { UptimeAnswer } from '@sotto/contract/control/catalog';
import { useQuery } from '@tanstack/react-query';
import { uptimeQuery } from '../../api/queries.ts';
import { formatCount, formatHour, formatInstant, formatMs, formatShare } from '../../format/format.ts';
import { TierBadge } from '../../ui/badge.tsx';
import { Plot } from '../../ui/plot.tsx';
import type { PlotPoint } from '../../ui/plot-parts.ts';
import { Card, Loaded } from '../../ui/surface.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { measuredText } from '../../ui/text.tsx';

/** Success and speed of a model's routes in the last 24 hours, if there were enough requests. */
export function ModelUptime({ model }: { model: string }) {
  return (
    <Card
      title="The last 24 hours"
      lead="Measured on live requests, without content or accounts. Figures need at least 20 requests."
    >
      <Loaded query={useQuery(uptimeQuery(model))} label="Measurements are loading" lines={6}>
        {(uptime) => <Measured uptime={uptime} />}
      </Loaded>
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
            ? 'No hour had 20 requests, so there is no plot yet.'
            : 'Every route had fewer than 20 requests, which is too few for figures.'}
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

const columns: readonly Column<RouteUptime>[] = [
  { title: 'Route', heading: true, cell: ({ name }) => <span className="break-all">{name}</span> },
  { title: 'Tier', cell: (route) => <TierBadge tier={route.privacy_class} /> },
  { title: 'Requests', numeric: true, cell: ({ requests }) => measuredText(requests, formatCount) },
  { title: 'Success', numeric: true, cell: ({ success_rate }) => measuredText(success_rate, formatShare) },
  {
    title: 'First token, p50',
    numeric: true,
    cell: ({ ttft_ms }) => measuredText(ttft_ms, ({ p50 }) => formatMs(p50)),
  },
  {
    title: 'First token, p90',
    numeric: true,
    cell: ({ ttft_ms }) => measuredText(ttft_ms, ({ p90 }) => formatMs(p90)),
  },
  {
    title: 'Tokens per second',
    numeric: true,
    cell: ({ throughput_tps }) => measuredText(throughput_tps, ({ p50 }) => formatCount(p50)),
  },
];

type RouteUptime = UptimeAnswer['routes'][number] & {
  readonly id: string;
  /** Its provider, numbered where several go by that name. */
  readonly name: string;
};

/** Routes with names that tell them apart: unlisted providers are all called `other`. */
export function namedRoutes({ routes }: UptimeAnswer): readonly RouteUptime[] {
  return routes.map((route, place) => {
    const namesakes = routes.filter(({ provider }) => provider === route.provider);
    const number = routes.slice(0, place + 1).filter(({ provider }) => provider === route.provider).length;
    const name = namesakes.length > 1 ? `${route.provider} (${number})` : route.provider;
    return { ...route, id: `${place} ${route.provider}`, name };
  });
}

/** A figure of every route, hour by hour, oldest first. */
export function pointsOf(routes: readonly RouteUptime[], figure: 'success_rate' | 'ttft_p50_ms'): readonly PlotPoint[] {
  const byTime = routes.map(({ series }) => new Map(series.map((hour) => [hour.at, hour[figure]])));
  const times = [...new Set(routes.flatMap(({ series }) => series.map(({ at }) => at)))].toSorted();
  return times.map((x) => ({ x, values: byTime.map((hours) => hours.get(x) ?? null) }));
}
