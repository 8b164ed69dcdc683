import { type Counts, type Model, measurementMinimum, summarize } from '@sotto/router';
import type { UptimeAnswer } from '@sotto/wire';

const hourMs = 3_600_000;
const rate = (successes: number, requests: number): number => Math.round((successes / requests) * 10_000) / 10_000;

/** Passive success rate and latency of a model's routes over 24 hours (interface 4.1, design 6 "uptime"). */
export function uptimeOf(model: Model, hours: ReadonlyMap<number, Counts>): UptimeAnswer {
  const day = summarize([...hours.values()]);
  const series = [...hours].sort(([a], [b]) => a - b).map(([hour, counts]) => ({ hour, routes: summarize([counts]) }));
  return {
    model: model.id,
    routes: model.routes.map((route) => {
      const total = day.get(route.id);
      const enough = total !== undefined && total.requests >= measurementMinimum ? total : undefined;
      const [p50, p90, p99] = [50, 90, 99].map((percentile) => enough?.ttftMs(percentile));
      const speed = enough?.tokensPerSecond(50);
      return {
        provider: route.publicProviderId,
        privacy_class: route.privacyClass,
        window_hours: 24,
        success_rate: enough === undefined ? null : rate(enough.successes, enough.requests),
        requests: total?.requests ?? 0,
        ttft_ms: p50 === undefined || p90 === undefined || p99 === undefined ? null : { p50, p90, p99 },
        throughput_tps: speed === undefined ? null : { p50: speed },
        series: series.map(({ hour, routes }) => {
          const at = routes.get(route.id);
          const known = at !== undefined && at.requests >= measurementMinimum ? at : undefined;
          return {
            at: new Date(hour * hourMs).toISOString(),
            success_rate: known === undefined ? null : rate(known.successes, known.requests),
            requests: at?.requests ?? 0,
            ttft_p50_ms: known?.ttftMs(50) ?? null,
          };
        }),
      };
    }),
  };
}
