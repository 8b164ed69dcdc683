import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import {
  type Catalog,
  isPenalized,
  type Measurements,
  type Model,
  noNeeds,
  type Penalties,
  type PlanningContext,
  penaltyRules,
  planRequest,
  prepareRouting,
  type Route,
  type RouteMeasurement,
  type RoutingRequest,
  weakestReachableClass,
} from '@sotto/router';
import { initialPreferences, type Preferences, privacyClasses } from '@sotto/wire';
import { Random } from '../../../test/kit/random.ts';
import { percentile } from '../cpu.ts';

/**
 * Measures planning over 500 models with 20 routes each, 80 % of them measured and 2 % penalized. Each request is
 * planned five times. `p50` and `p99` use all times. `undisturbed` uses the fastest of the five, which is less affected
 * by other processes. `--quick` uses fewer requests.
 */
const quick = process.argv.includes('--quick');
const counted = quick ? 300 : 2000;
const [modelCount, routesPerModel] = [500, 20];
const random = new Random(1);
const between = (least: number, most: number): number => least + random.next() * (most - least);

const catalog: Catalog = {
  version: 1,
  digest: 'd'.repeat(64),
  models: new Map(Array.from({ length: modelCount }, (_, at) => [`lab/model-${at}`, aModel(`lab/model-${at}`)])),
};
const routes = [...catalog.models.values()].flatMap((model) => model.routes);
const penalties: Penalties = new Map(
  routes
    .filter(() => random.chance(0.02))
    .map(({ id }) => [
      `route:${id}`,
      { kind: 'server_error', strikes: 1, lastStrikeAt: 0, expiresAt: penaltyRules.firstMs },
    ]),
);
const measured = new Map(routes.filter(() => random.chance(0.8)).map(({ id }) => [id, aMeasurement()]));

function aModel(id: string): Model {
  const level = 10 ** between(-1, 1.3);
  return {
    id,
    name: id,
    type: 'text',
    contextLength: 131_072,
    maxOutputTokens: 16_384,
    auto: true,
    routes: Array.from({ length: routesPerModel }, (_, at) => aRoute(id, at, level)),
  };
}

function aRoute(modelId: string, at: number, level: number): Route {
  const [input, output] = [level * between(0.7, 1.4), level * between(2, 5)];
  // Every provider serves every model. One in ten is an enclave, and most are private.
  const privacyClass = privacyClasses[at % 10 === 0 ? 2 : at % 7 === 1 ? 3 : at % 3 === 0 ? 0 : 1] ?? 'private';
  return {
    id: `${modelId}@provider-${at}`,
    modelId,
    providerId: `provider-${at}`,
    publicProviderId: `provider-${at}`,
    upstreamModel: modelId,
    privacyClass,
    price: { input: Math.round(input * 1e6), output: Math.round(output * 1e6), cachedInput: Math.round(input * 2e5) },
    pricing: { input, output },
    supportedParameters: undefined,
    missingParameters: new Set(),
    parameterRanges: {},
    exclusiveParameters: [],
    capabilities: { tools: random.chance(0.8), vision: random.chance(0.4), structuredOutput: random.chance(0.6) },
    contextLength: random.chance(0.5) ? 131_072 : 32_768,
    maxOutputTokens: 16_384,
    rank: at,
    insecureHttp: false,
    enclaveFamily: undefined,
  };
}

function aMeasurement(): RouteMeasurement {
  const requests = Math.floor(between(10, 5000));
  return {
    requests,
    successes: Math.floor(requests * between(0.9, 1)),
    ttftMs: Math.floor(between(80, 3000)),
    tokensPerSecond: Math.floor(between(10, 200)),
  };
}

/** Returns the measurements of a moment later: new objects, and new figures for some routes. */
const later = (share: number): Measurements =>
  new Map([...measured].map(([id, each]) => [id, random.chance(share) ? aMeasurement() : { ...each }]));

interface Case {
  readonly name: string;
  readonly request: () => RoutingRequest;
  readonly preferences?: Partial<Preferences>;
  /** Runs before each request. Its time is not counted. */
  readonly measurements?: () => Measurements;
  readonly tools?: true;
  readonly minting?: true;
  readonly refused?: true;
  readonly share?: number;
}

const aModelId = (): string => `lab/model-${random.below(modelCount)}`;
const strategy = (name: Preferences['auto']['strategy']): Partial<Preferences> => ({
  auto: { ...initialPreferences.auto, strategy: name },
});
const auto = (): RoutingRequest => ({ model: '/auto' });
/**
 * A private provider. A request that is pinned to a weaker provider, or to one for encrypted requests only, has no
 * route left.
 */
const pinned = (): RoutingRequest => ({
  model: '/auto',
  provider: random.pick(['provider-2', 'provider-11', 'provider-19']),
});
const tooCheap = (): RoutingRequest => ({ model: '/auto', provider: { max_price: { input: 0.001 } } });

const cases: Case[] = [
  { name: 'named', request: () => ({ model: aModelId() }) },
  {
    name: 'named, tools, by privacy',
    request: () => ({ model: aModelId(), provider: { sort: 'privacy' } }),
    tools: true,
  },
  {
    name: 'named, an order, by price',
    request: () => ({ model: aModelId(), provider: { order: ['provider-3', 'provider-7'], sort: 'price' } }),
  },
  {
    name: 'named, after new measurements (2 % differ)',
    request: () => ({ model: aModelId() }),
    measurements: () => later(0.02),
    share: 0.1,
  },
  ...(['balanced', 'cheapest', 'fastest', 'most_private'] as const).map((name) => ({
    name: `/auto, ${name}`,
    request: auto,
    preferences: strategy(name),
  })),
  { name: '/auto, tools, by latency', request: () => ({ model: '/auto', provider: { sort: 'latency' } }), tools: true },
  { name: '/auto, pinned to one provider', request: pinned, preferences: strategy('cheapest') },
  { name: '/auto, pinned, fastest', request: pinned, preferences: strategy('fastest') },
  { name: '/auto, refused for price', request: tooCheap, refused: true },
  ...(['balanced', 'fastest'] as const).flatMap((name) => [
    {
      name: `/auto, ${name}, after new measurements (2 % differ)`,
      request: auto,
      preferences: strategy(name),
      measurements: () => later(0.02),
      share: 0.1,
    },
    {
      name: `/auto, ${name}, after new measurements (all differ)`,
      request: auto,
      preferences: strategy(name),
      measurements: () => later(1),
      share: 0.1,
    },
  ]),
  { name: 'ticket, named', request: () => ({ model: aModelId() }), minting: true },
  {
    name: 'ticket, three models',
    request: () => ({ model: aModelId(), models: [aModelId(), aModelId()], provider: { sort: 'privacy' } }),
    minting: true,
    share: 0.1,
  },
  { name: 'ticket, /auto', request: auto, minting: true },
  {
    name: 'ticket, /auto, by privacy',
    request: () => ({ model: '/auto', provider: { sort: 'privacy' } }),
    minting: true,
  },
  { name: 'ticket, /auto, by price', request: () => ({ model: '/auto:floor' }), minting: true },
];

setFlagsFromString('--expose-gc');
const collect: () => void = runInNewContext('gc');

const times = 5;

const preparations: number[] = [];
function prepare(measurements: Measurements): void {
  const began = performance.now();
  for (const _ of prepareRouting(catalog, measurements));
  preparations.push((performance.now() - began) * 1000);
}

/** Times of all requests in µs, five for each. */
function run({ request, preferences, measurements, tools, minting, refused }: Case, count: number): number[][] {
  const needs = { ...noNeeds('text'), promptTokens: minting ? 0 : 900, tools: tools ?? false };
  return Array.from({ length: count }, () => {
    const asked = request();
    return Array.from({ length: times }, () => {
      // Preferences come from a ticket or key record, so each request has a new object.
      const context: PlanningContext = {
        catalog,
        preferences: structuredClone({ ...initialPreferences, ...preferences }),
        status: {
          measurements: measurements?.() ?? measured,
          penalized: (route) => isPenalized(penalties, route, 1),
        },
        random: () => random.next(),
      };
      // As in the broker, this happens when measurements arrive, not while it serves a request.
      if (measurements !== undefined) prepare(context.status.measurements);
      const began = performance.now();
      const decision = minting ? weakestReachableClass(asked, needs, context) : planRequest(asked, needs, context);
      const microseconds = (performance.now() - began) * 1000;
      if (decision.ok === (refused ?? false)) throw new Error('the case does not have the intended outcome');
      return microseconds;
    });
  });
}

const heap = (): number => {
  collect();
  return process.memoryUsage().heapUsed / 2 ** 20;
};

const cells = (values: readonly (string | number)[]): string =>
  values.map((value, at) => String(value).padEnd(at === 0 ? 56 : at === 3 ? 17 : 8)).join('');
console.log(`${modelCount} models × ${routesPerModel} routes; µs per request`);
console.log(cells(['', 'p50', 'p99', 'undisturbed p50', 'p99']));
for (const each of cases) {
  const count = Math.ceil(counted * (each.share ?? 1));
  run(each, Math.ceil(count / 5));
  const samples = run(each, count);
  const all = samples.flat();
  const quickest = samples.map((sample) => Math.min(...sample));
  const figures = [all, quickest].flatMap((of) => [50, 99].map((at) => percentile(of, at).toFixed(0)));
  console.log(cells([each.name, ...figures]));
}
const [p50, p99] = [50, 99].map((at) => percentile(preparations, at).toFixed(0));
console.log(cells(['(new measurements, 20 slices, off the path)', p50 ?? '', p99 ?? '']));

const before = heap();
const many = quick ? 20_000 : 100_000;
const steady = cases.filter(({ share }) => share === undefined);
for (const each of steady) run(each, Math.ceil(many / times / steady.length));
console.log(
  `heap after ${many} more requests: ${(heap() - before).toFixed(2)} MiB beyond the ${before.toFixed(1)} before`,
);
