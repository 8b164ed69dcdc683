import type { UptimeAnswer } from '@sotto/wire';
import type { PlotPoint } from '../../ui/plot-parts.ts';

export type RouteUptime = UptimeAnswer['routes'][number] & {
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
