import type { MeasurementsAnswer, UptimeAnswer } from '@sotto/contract/control/catalog';
import type { RouteAnswer } from '@sotto/wire';
import { useQueries } from '@tanstack/react-query';
import { uptimeQuery } from '../../api/queries.ts';

/** The best figures of a model's routes in the last 24 hours. Undefined: every route had too few requests. */
export interface Measured {
  readonly successRate: number | undefined;
  readonly tokensPerSecond: number | undefined;
  /** The median; ms. */
  readonly firstTokenMs: number | undefined;
}

type MeasuredRoute = MeasurementsAnswer['data'][number]['routes'][number];
/** The routes that had enough requests, by model. */
export type MeasuredRoutes = ReadonlyMap<string, readonly MeasuredRoute[]>;

/** The best figures of some routes of a model. */
export function measuredOf(known: readonly MeasuredRoute[], routes: readonly RouteAnswer[]): Measured {
  const wanted = new Set(routes.map(({ provider, privacy_class }) => `${provider} ${privacy_class}`));
  const measured = known.filter(({ provider, privacy_class }) => wanted.has(`${provider} ${privacy_class}`));
  return {
    successRate: best(measured.map(({ success_rate }) => success_rate)),
    tokensPerSecond: best(measured.map(({ throughput_tps }) => throughput_tps?.p50)),
    firstTokenMs: best(
      measured.map(({ ttft_ms }) => ttft_ms?.p50),
      Math.min,
    ),
  };
}

function best(figures: readonly (number | null | undefined)[], pick = Math.max): number | undefined {
  const known = figures.filter((figure) => figure != null);
  return known.length === 0 ? undefined : pick(...known);
}

/** The hours of a model are a request of their own. */
export const mostWithHours = 100;

/** The models of a provider at which requests failed, those with the most failures first. Only these can have incidents. */
export const troubledAt = (provider: string, known: MeasuredRoutes): readonly string[] =>
  [...known]
    .map(([model, routes]) => {
      const own = routes.filter((route) => route.provider === provider);
      return {
        model,
        failed: Math.max(0, ...own.map((route) => (1 - (route.success_rate ?? 1)) * (route.requests ?? 0))),
      };
    })
    .filter(({ failed }) => failed > 0)
    .toSorted((left, right) => right.failed - left.failed)
    .map(({ model }) => model);

/** The measurements of models hour by hour, as far as they are loaded. */
export function useUptimes(ids: readonly string[]) {
  return useQueries({
    queries: ids.map((id) => uptimeQuery(id)),
    combine: (results) => ({
      uptimes: results.flatMap(({ data }) => data ?? []),
      isPending: results.some(({ isPending }) => isPending),
      error: results.find(({ error }) => error !== null)?.error ?? null,
      retry: () => {
        for (const { error, refetch } of results) if (error !== null) void refetch();
      },
    }),
  });
}

/** Below this share of successes, an hour with enough requests is an incident. */
export const incidentBelow = 0.95;

/** Hours in a row in which a route failed too often. */
export interface Incident {
  readonly model: string;
  readonly tier: MeasuredRoute['privacy_class'];
  /** Starts of the first and the last hour; ISO 8601. */
  readonly from: string;
  readonly to: string;
  readonly requests: number;
  readonly successRate: number;
}

const hourMs = 3_600_000;

/** The incidents of a provider in the last 24 hours, newest first. An hour with too few requests neither begins nor joins one. */
export function incidentsOf(provider: string, uptimes: Iterable<UptimeAnswer>): readonly Incident[] {
  const incidents: Incident[] = [];
  for (const { model, routes } of uptimes) {
    for (const { series, privacy_class: tier } of routes.filter((route) => route.provider === provider)) {
      let last: Incident | undefined;
      for (const { at, success_rate: rate, requests } of series.toSorted((a, b) => a.at.localeCompare(b.at))) {
        if (rate === null || requests === null || rate >= incidentBelow) continue;
        const isNext = last !== undefined && Date.parse(at) - Date.parse(last.to) === hourMs;
        const before = isNext && last !== undefined ? last : { from: at, requests: 0, successRate: 0 };
        const sum = before.requests + requests;
        const successRate = (before.successRate * before.requests + rate * requests) / sum;
        if (isNext) incidents.pop();
        last = { model, tier, from: before.from, to: at, requests: sum, successRate };
        incidents.push(last);
      }
    }
  }
  return incidents.toSorted((left, right) => right.to.localeCompare(left.to) || left.model.localeCompare(right.model));
}
