import {
  type CapabilitiesAnswer,
  catalogContracts,
  type MeasurementsAnswer,
  type StatusAnswer,
  type UptimeAnswer,
} from '@sotto/contract/control/catalog';
import {
  type MeasurementWindow,
  type Model,
  measurementMinimum,
  modelList,
  type Route,
  type RouteTally,
  windowHours,
} from '@sotto/router';
import { AnswerCache, repeat } from '@sotto/server';
import { initialPreferences, type ModelListAnswer, type ModelRules, type Preferences, ServiceError } from '@sotto/wire';
import type { PresentedKey } from '../credentials/presented-key.ts';
import type { Domain } from '../domain.ts';
import type { Serve } from '../serve/serve.ts';
import type { CatalogKeeper } from './catalog-keeper.ts';
import { shareOf } from './plane-uptime.ts';

export interface CatalogDependencies {
  readonly keeper: CatalogKeeper;
  readonly capabilities: () => CapabilitiesAnswer;
  readonly planes: () => StatusAnswer['planes'];
}

/** The interval for what nothing announced, because a message was lost or the state lost what it had. */
const unaskedMs = 5_000;
/** Announcements of this time are read together. */
const gatherMs = 250;
const pauseMs = 500;
const measureMs = 5_000;
const figuresMs = 15_000;
/** Lists of models, which differ by preferences. Each may be a megabyte. */
const keptLists = { keptMs: 2_000, most: 16 };

export function buildCatalog(deps: CatalogDependencies): Domain {
  const { keeper } = deps;
  const counted: CountedHours = new Map();
  // Anybody may ask for the figures of all routes, so they are computed for everybody at once.
  let figures: Figures | undefined;
  const refreshFigures = (catalog: Catalog): Figures => {
    if (figures !== undefined && figures.catalog !== catalog) counted.clear();
    const models = [...catalog.models.values()];
    figures = {
      catalog,
      status: statusOf(models, keeper.measured, counted),
      measurements: measurementsOf(models, keeper.measured),
    };
    return figures;
  };
  return {
    register: ({ serve }) => serveCatalog(serve, deps, (catalog) => figures ?? refreshFigures(catalog)),
    tasks(failed) {
      const following = repeat(unaskedMs, () => keeper.follow(), failed('catalog'), { gatherMs, pauseMs });
      return [
        following,
        keeper.watch(following.wake),
        repeat(measureMs, () => keeper.refreshMeasurements(), failed('measurements')),
        repeat(figuresMs, async () => void (keeper.catalog && refreshFigures(keeper.catalog)), failed('status')),
      ];
    },
  };
}

type Catalog = NonNullable<CatalogKeeper['catalog']>;

interface Figures {
  readonly catalog: Catalog;
  readonly status: Omit<StatusAnswer, 'planes'>;
  readonly measurements: MeasurementsAnswer;
}

/** Serves the models, the uptime of their routes, the status, and the capabilities of this deployment. */
function serveCatalog(
  serve: Serve,
  { keeper, capabilities, planes }: CatalogDependencies,
  figuresOf: (catalog: Catalog) => Figures,
): void {
  const figures = (): Figures => figuresOf(keeper.requireCatalog());
  const now = () => performance.now();
  const lists = new AnswerCache<ModelListAnswer>({ ...keptLists, now });
  const listFor = ({ preferences, allowedModels, workspaceModels }: PresentedKey): ModelListAnswer =>
    lists.get(keeper.requireCatalog(), JSON.stringify([preferences, allowedModels, workspaceModels]), () =>
      listModels(keeper, preferences, { allowedModels, workspaceModels }),
    );
  const catalogs = new AnswerCache<ModelListAnswer & { readonly catalog_digest: string }>({
    keptMs: 2_000,
    most: 1,
    now,
  });
  serve(catalogContracts)({
    'GET /v1/models': async ({ caller }) => listFor(caller),
    'GET /v1/catalog/models': async () => {
      const catalog = keeper.requireCatalog();
      return catalogs.get(catalog, '', () => ({
        ...listModels(keeper, initialPreferences),
        catalog_digest: `sha256:${catalog.digest}`,
      }));
    },
    'GET /v1/capabilities': async () => capabilities(),

    'GET /v1/status': async () => ({ ...figures().status, planes: planes() }),
    'GET /v1/catalog/measurements': async () => figures().measurements,

    'GET /v1/models/uptime': async ({ query: { model: id } }) => {
      if (typeof id !== 'string' || id === '') throw new ServiceError('missing_model', { param: 'model' });
      const model = keeper.requireCatalog().models.get(id);
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

function listModels(keeper: CatalogKeeper, preferences: Preferences, allowed?: ModelRules): ModelListAnswer {
  const context = keeper.planning(preferences);
  return modelList(context, Math.floor(context.catalog.version / 1000), allowed);
}

type MeasuredRoute = MeasurementsAnswer['data'][number]['routes'][number];
type RouteUptime = UptimeAnswer['routes'][number];

const hourMs = 3_600_000;

/** Computes success rate and latency of a model’s routes over 24 hours, from requests that brokers served. */
export const uptimeOf = (model: Model, measured: MeasurementWindow): UptimeAnswer => ({
  model: model.id,
  routes: model.routes.map((route) => ({
    ...measuredRoute(route, measured),
    series: measured.hours.map((hour) => uptimeIn(hour, measured.tallyOf(hour, route.id))),
  })),
});

/** The same without hours, for all models and routes that had enough requests. */
export const measurementsOf = (models: readonly Model[], measured: MeasurementWindow): MeasurementsAnswer => ({
  data: models.flatMap(({ id: model, routes }) => {
    const reliable = routes.filter(({ id }) => reliableTally(measured.sumOf(id)) !== undefined);
    return reliable.length === 0 ? [] : [{ model, routes: reliable.map((route) => measuredRoute(route, measured)) }];
  }),
});

function measuredRoute({ id, publicProviderId, privacyClass }: Route, measured: MeasurementWindow): MeasuredRoute {
  const sum = measured.sumOf(id);
  const reliable = reliableTally(sum);
  const [p50, p90, p99] = [50, 90, 99].map((percentile) => reliable?.percentile('ttftMs', percentile));
  const speed = reliable?.percentile('tokensPerSecond', 50);
  return {
    provider: publicProviderId,
    privacy_class: privacyClass,
    window_hours: windowHours,
    success_rate: successRate(sum),
    requests: reliable?.requests ?? null,
    ttft_ms: p50 === undefined || p90 === undefined || p99 === undefined ? null : { p50, p90, p99 },
    throughput_tps: speed === undefined ? null : { p50: speed },
  };
}

type Ends = Pick<RouteTally, 'requests' | 'successes'>;
/** How requests ended, by hour and provider. */
type CountedHours = Map<number, ReadonlyMap<string, Ends>>;

const none: Ends = { requests: 0, successes: 0 };
const sumOf = (all: readonly Ends[]): Ends =>
  all.reduce(
    (sum, ends) => ({ requests: sum.requests + ends.requests, successes: sum.successes + ends.successes }),
    none,
  );

/**
 * Sums up how the requests to providers ended over 24 hours. `counted` keeps the hours between calls: only the last two,
 * which may still change, are counted again, because a large catalog has many routes.
 */
export function statusOf(
  models: readonly Model[],
  measured: MeasurementWindow,
  counted: CountedHours = new Map(),
): Omit<StatusAnswer, 'planes'> {
  const { hours } = measured;
  const routes = Map.groupBy(
    models.flatMap((model) => model.routes),
    ({ publicProviderId }) => publicProviderId,
  );
  const changing = new Set(hours.slice(-2));
  for (const hour of counted.keys()) if (!hours.includes(hour)) counted.delete(hour);
  for (const hour of hours) {
    if (counted.has(hour) && !changing.has(hour)) continue;
    const byProvider = [...routes].map(
      ([provider, own]) => [provider, sumOf(own.map(({ id }) => measured.tallyOf(hour, id)))] as const,
    );
    counted.set(hour, new Map(byProvider));
  }
  const answerOf = (ends: Ends) => ({
    requests: reliableTally(ends)?.requests ?? null,
    success_rate: successRate(ends),
  });
  const inHour = (hour: number, ends: Ends) => ({ at: new Date(hour * hourMs).toISOString(), ...answerOf(ends) });
  return {
    window_hours: windowHours,
    hours: hours.map((hour) => inHour(hour, sumOf([...(counted.get(hour)?.values() ?? [])]))),
    providers: [...routes.keys()].map((provider) => {
      const own = hours.map((hour) => [hour, counted.get(hour)?.get(provider) ?? none] as const);
      const day = sumOf(own.map(([, ends]) => ends));
      return { provider, ...answerOf(day), hours: own.map(([hour, ends]) => inHour(hour, ends)) };
    }),
  };
}

const uptimeIn = (hour: number, tally: RouteTally): RouteUptime['series'][number] => ({
  at: new Date(hour * hourMs).toISOString(),
  success_rate: successRate(tally),
  requests: reliableTally(tally)?.requests ?? null,
  ttft_p50_ms: reliableTally(tally)?.percentile('ttftMs', 50) ?? null,
});

/** Returns the tally if it has enough requests to be reported. */
const reliableTally = <Tally extends Ends>(tally: Tally | undefined): Tally | undefined =>
  tally !== undefined && tally.requests >= measurementMinimum ? tally : undefined;

function successRate(tally: Ends | undefined): number | null {
  const reliable = reliableTally(tally);
  return reliable === undefined ? null : shareOf(reliable.successes, reliable.requests);
}
