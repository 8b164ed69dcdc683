import { type MeasurementWindow, type Model, measurementMinimum, type RouteTally, windowHours } from '@sotto/router';
import type { UptimeAnswer } from '@sotto/wire';

type RouteUptime = UptimeAnswer['routes'][number];

const hourMs = 3_600_000;

/** Passive success rate and latency of a model's routes over 24 hours (interface 4.1, design 6 "uptime"). */
export function uptimeOf(model: Model, measured: MeasurementWindow): UptimeAnswer {
  return {
    model: model.id,
    routes: model.routes.map(({ id, publicProviderId, privacyClass }) => {
      const sum = measured.sumOf(id);
      const known = believed(sum);
      const [p50, p90, p99] = [50, 90, 99].map((percentile) => known?.percentile('ttftMs', percentile));
      const speed = known?.percentile('tokensPerSecond', 50);
      return {
        provider: publicProviderId,
        privacy_class: privacyClass,
        window_hours: windowHours,
        success_rate: successRate(sum),
        requests: sum?.requests ?? 0,
        ttft_ms: p50 === undefined || p90 === undefined || p99 === undefined ? null : { p50, p90, p99 },
        throughput_tps: speed === undefined ? null : { p50: speed },
        series: measured.hours.map((hour) => uptimeIn(hour, measured.tallyOf(hour, id))),
      };
    }),
  };
}

const uptimeIn = (hour: number, tally: RouteTally): RouteUptime['series'][number] => ({
  at: new Date(hour * hourMs).toISOString(),
  success_rate: successRate(tally),
  requests: tally.requests,
  ttft_p50_ms: believed(tally)?.percentile('ttftMs', 50) ?? null,
});

/** A tally of enough requests to be told. */
const believed = (tally: RouteTally | undefined): RouteTally | undefined =>
  tally !== undefined && tally.requests >= measurementMinimum ? tally : undefined;

function successRate(tally: RouteTally | undefined): number | null {
  const known = believed(tally);
  return known === undefined ? null : Math.round((known.successes / known.requests) * 10_000) / 10_000;
}
