import { catalogContracts } from '@sotto/contract/control';
import {
  bestOfBand,
  type MeasurementWindow,
  type Model,
  measurementMinimum,
  modelList,
  type Route,
  type RouteTally,
  windowHours,
} from '@sotto/router';
import { repeat } from '@sotto/server';
import {
  type CapabilitiesAnswer,
  initialPreferences,
  type ModelListAnswer,
  type Preferences,
  ServiceError,
  type StatusAnswer,
  type UptimeAnswer,
} from '@sotto/wire';
import type { Domain } from '../domain.ts';
import type { Serve } from '../serve/serve.ts';
import type { CatalogKeeper } from './catalog-keeper.ts';

export interface CatalogDependencies {
  readonly keeper: CatalogKeeper;
  readonly capabilities: () => CapabilitiesAnswer;
}

const followMs = 500;
const measureMs = 2_000;

export const buildCatalog = (deps: CatalogDependencies): Domain => ({
  register: ({ serve }) => serveCatalog(serve, deps),
  tasks: (failed) => [
    repeat(followMs, () => deps.keeper.follow(), failed('catalog')),
    repeat(measureMs, () => deps.keeper.refreshMeasurements(), failed('measurements')),
  ],
});

/** Serves the models, the uptime of their routes, and the capabilities of this deployment. */
function serveCatalog(serve: Serve, { keeper, capabilities }: CatalogDependencies): void {
  serve(catalogContracts)({
    'GET /v1/models': async ({ caller }) => listModels(keeper, caller.preferences, caller.allowedModels),
    'GET /v1/catalog/models': async () => ({
      ...listModels(keeper, initialPreferences),
      catalog_digest: `sha256:${keeper.catalog?.digest}`,
    }),
    'GET /v1/capabilities': async () => capabilities(),

    'GET /v1/status': async () => {
      const { catalog } = keeper;
      if (catalog === undefined) throw new ServiceError('service_unavailable');
      return statusOf([...catalog.models.values()], keeper.measured);
    },

    'GET /v1/models/uptime': async ({ query: { model: id } }) => {
      if (typeof id !== 'string' || id === '') throw new ServiceError('missing_model', { param: 'model' });
      const { catalog } = keeper;
      if (catalog === undefined) throw new ServiceError('service_unavailable');
      const model = catalog.models.get(id);
      if (model === undefined || model.routes.length === 0) {
        throw new ServiceError('model_not_found', {
          message: `The model \`${id.slice(0, 256)}\` does not exist or is not enabled. \`GET /v1/models\` lists those that are.`,
          param: 'model',
        });
      }
      return uptimeOf(model, keeper.measured);
    },
  });
}

function listModels(keeper: CatalogKeeper, preferences: Preferences, allowed?: readonly string[]): ModelListAnswer {
  const { catalog } = keeper;
  if (catalog === undefined) throw new ServiceError('service_unavailable');
  return modelList(
    { catalog, preferences, status: keeper.status(), random: bestOfBand },
    Math.floor(catalog.version / 1000),
    allowed,
  );
}

type RouteUptime = UptimeAnswer['routes'][number];

const hourMs = 3_600_000;

/** Computes success rate and latency of a model’s routes over 24 hours, from requests that brokers served. */
export function uptimeOf(model: Model, measured: MeasurementWindow): UptimeAnswer {
  return {
    model: model.id,
    routes: model.routes.map(({ id, publicProviderId, privacyClass }) => {
      const sum = measured.sumOf(id);
      const reliable = reliableTally(sum);
      const [p50, p90, p99] = [50, 90, 99].map((percentile) => reliable?.percentile('ttftMs', percentile));
      const speed = reliable?.percentile('tokensPerSecond', 50);
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

type StatusHour = StatusAnswer['hours'][number];

/** Sums up how the requests to providers ended over 24 hours. */
export function statusOf(models: readonly Model[], measured: MeasurementWindow): StatusAnswer {
  const routes = models.flatMap((model) => model.routes);
  const hoursOf = (some: readonly Route[]): StatusHour[] =>
    measured.hours.map((hour) => {
      const ends = endsOf(some.map(({ id }) => measured.tallyOf(hour, id)));
      return { at: new Date(hour * hourMs).toISOString(), requests: ends.requests, success_rate: successRate(ends) };
    });
  const providers = Map.groupBy(routes, ({ publicProviderId }) => publicProviderId);
  return {
    window_hours: windowHours,
    hours: hoursOf(routes),
    providers: [...providers].map(([provider, own]) => {
      const ends = endsOf(own.map(({ id }) => measured.sumOf(id)));
      return { provider, requests: ends.requests, success_rate: successRate(ends), hours: hoursOf(own) };
    }),
  };
}

type Ends = Pick<RouteTally, 'requests' | 'successes'>;

const endsOf = (tallies: readonly (Ends | undefined)[]): Ends =>
  tallies.reduce<Ends>(
    (sum, tally) => ({
      requests: sum.requests + (tally?.requests ?? 0),
      successes: sum.successes + (tally?.successes ?? 0),
    }),
    { requests: 0, successes: 0 },
  );

const uptimeIn = (hour: number, tally: RouteTally): RouteUptime['series'][number] => ({
  at: new Date(hour * hourMs).toISOString(),
  success_rate: successRate(tally),
  requests: tally.requests,
  ttft_p50_ms: reliableTally(tally)?.percentile('ttftMs', 50) ?? null,
});

/** Returns the tally if it has enough requests to be reported. */
const reliableTally = <Tally extends Ends>(tally: Tally | undefined): Tally | undefined =>
  tally !== undefined && tally.requests >= measurementMinimum ? tally : undefined;

function successRate(tally: Ends | undefined): number | null {
  const reliable = reliableTally(tally);
  return reliable === undefined ? null : Math.round((reliable.successes / reliable.requests) * 10_000) / 10_000;
}
