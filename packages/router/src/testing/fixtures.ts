import type { Price } from '@sotto/money';
import {
  boundaries,
  initialPreferences,
  type Preferences,
  type PrivacyClass,
  type ProviderPolicy,
  type ProviderPolicyObject,
  privacyClasses,
  requestSorts,
} from '@sotto/wire';
import fc from 'fast-check';
import type { Catalog, Model, ModelType, Route, RouteCapabilities } from '../catalog/catalog.ts';
import type { RouteMeasurement } from '../health/measurement.ts';
import type { ChatParameter } from '../parameters/parameter-names.ts';
import { type Needs, noNeeds } from '../plan/needs.ts';
import type { RouteStatus } from '../plan/order-routes.ts';
import { type Plan, planRequest, type RoutingRequest } from '../plan/plan-request.ts';
import { bestOfBand, type PlanningContext } from '../plan/planning-context.ts';
import { type MergedPolicy, mergePolicy } from '../policy/merge-policy.ts';
import type { Decision, Refusal } from '../policy/refusal.ts';
import { readRequestPolicy } from '../policy/request-policy.ts';

/** The facts that a test states about a route. Everything else has defaults. */
export interface RouteSketch {
  readonly provider: string;
  readonly unlisted?: boolean | undefined;
  readonly privacy?: PrivacyClass | undefined;
  /** USD per million tokens. */
  readonly input?: number | undefined;
  readonly output?: number | undefined;
  /** Further prices, in pico-USD. */
  readonly price?: Partial<Price> | undefined;
  readonly capabilities?: Partial<RouteCapabilities> | undefined;
  readonly contextLength?: number | undefined;
  readonly maxOutputTokens?: number | undefined;
  readonly supportedParameters?: readonly string[] | undefined;
  readonly missingParameters?: readonly ChatParameter[] | undefined;
  readonly parameterRanges?: Route['parameterRanges'] | undefined;
  readonly exclusiveParameters?: Route['exclusiveParameters'] | undefined;
  /** Position in the registry. Absent: the position in the model's list. */
  readonly rank?: number | undefined;
  readonly insecureHttp?: boolean | undefined;
  readonly enclaveFamily?: Route['enclaveFamily'];
}

/** The default model in tests. */
export const theModel = 'lab/one';

export function aRoute(sketch: RouteSketch, modelId = theModel, position = 0): Route {
  const { provider, input = 1, output = 1 } = sketch;
  return {
    id: `${modelId}@${provider}`,
    modelId,
    providerId: provider,
    publicProviderId: sketch.unlisted ? 'other' : provider,
    upstreamModel: 'upstream-1',
    privacyClass: sketch.privacy ?? 'private',
    price: { input: input * 1e6, output: output * 1e6, ...sketch.price },
    pricing: { input, output },
    capabilities: { tools: false, vision: false, structuredOutput: false, ...sketch.capabilities },
    contextLength: sketch.contextLength,
    maxOutputTokens: sketch.maxOutputTokens,
    supportedParameters: sketch.supportedParameters === undefined ? undefined : new Set(sketch.supportedParameters),
    missingParameters: new Set(sketch.missingParameters),
    parameterRanges: sketch.parameterRanges ?? {},
    exclusiveParameters: sketch.exclusiveParameters ?? [],
    rank: sketch.rank ?? position,
    insecureHttp: sketch.insecureHttp ?? false,
    enclaveFamily: sketch.enclaveFamily,
  };
}

export const aModel = (id: string, sketches: readonly RouteSketch[], type: ModelType = 'text'): Model => ({
  id,
  name: id,
  type,
  contextLength: undefined,
  maxOutputTokens: undefined,
  auto: true,
  routes: sketches.map((sketch, position) => aRoute(sketch, id, position)),
});

export const aCatalog = (...models: readonly Model[]): Catalog => ({
  version: 1,
  digest: 'd'.repeat(64),
  models: new Map(models.map((model) => [model.id, model])),
});

/** A catalog of `theModel` alone. */
export const oneModel = (...sketches: readonly RouteSketch[]): Catalog => aCatalog(aModel(theModel, sketches));

const preferring = (changes: Partial<Preferences> = {}): Preferences => ({ ...initialPreferences, ...changes });
export const needing = (changes: Partial<Needs> = {}): Needs => ({ ...noNeeds('text'), ...changes });

export const allHealthy: RouteStatus = { measurements: new Map(), penalized: () => false };
/** A status in which every route of these providers is penalized. */
export const penalizing = (...providers: readonly string[]): RouteStatus => ({
  ...allHealthy,
  penalized: (route) => providers.includes(route.providerId),
});
/** A status in which routes of `theModel` are measured, by provider. The default is 20 requests. */
export const measuring = (measured: Record<string, Partial<RouteMeasurement>>): RouteStatus => ({
  ...allHealthy,
  measurements: new Map(
    Object.entries(measured).map(([provider, found]) => [
      `${theModel}@${provider}`,
      { requests: 20, successes: 20, ttftMs: undefined, tokensPerSecond: undefined, ...found },
    ]),
  ),
});

/** The context of a request in a test. Absent fields have defaults. */
export interface Surroundings {
  readonly preferences?: Partial<Preferences>;
  readonly needs?: Partial<Needs>;
  readonly status?: RouteStatus;
  /** Absent: the best of the routes that share traffic goes first. */
  readonly random?: () => number;
}

export const contextOf = (catalog: Catalog, { preferences, status, random }: Surroundings = {}): PlanningContext => ({
  catalog,
  preferences: preferring(preferences),
  status: status ?? allHealthy,
  random: random ?? bestOfBand,
});

export const decide = (
  catalog: Catalog,
  request: Partial<RoutingRequest> = {},
  surroundings: Surroundings = {},
): Decision<Plan> =>
  planRequest({ model: theModel, ...request }, needing(surroundings.needs), contextOf(catalog, surroundings));

/** The value of a decision that must be accepted. */
export function accepted<T>(decision: Decision<T>): T {
  if (decision.ok) return decision.value;
  throw new Error(`refused: ${decision.refusal.type}: ${decision.refusal.message}`);
}

/** The refusal of a decision that must be refused. */
export function refusalOf(decision: Decision<unknown>): Refusal {
  if (!decision.ok) return decision.refusal;
  throw new Error('accepted, though a refusal was expected');
}

/** The plan of a request that must have one. */
export const planned = (...request: Parameters<typeof decide>): Plan => accepted(decide(...request));
/** The error type of a request that must not have a plan. */
export const refused = (...request: Parameters<typeof decide>): Refusal['type'] => refusalOf(decide(...request)).type;
/** The providers, in order, of a request that must have a plan. */
export const providersFor = (...request: Parameters<typeof decide>): string[] =>
  planned(...request).routes.map((route) => route.providerId);

/** A request's policy merged into a workspace's preferences. Neither may contradict itself. */
export const merged = (provider?: ProviderPolicy, preferences: Partial<Preferences> = {}): MergedPolicy =>
  mergePolicy(preferring(preferences), accepted(readRequestPolicy(provider)));

/** Providers whose names differ in the ways that matching must distinguish. Their order is the registry's. */
const providers: readonly Pick<RouteSketch, 'provider' | 'unlisted'>[] = [
  { provider: 'acme' },
  { provider: 'acme/eu' },
  { provider: 'acme/us' },
  { provider: 'acmeco' },
  { provider: 'bolt' },
  { provider: 'hidden', unlisted: true },
  { provider: 'shadow', unlisted: true },
];
const namable = ['acme', 'acme/eu', 'acme/us', 'acmeco', 'bolt', 'other', 'nobody'];
const modelIds = [theModel, 'lab/two', 'lab/three'] as const;
const routeIds = modelIds.flatMap((model) => providers.map(({ provider }) => `${model}@${provider}`));

const anyClass = fc.constantFrom(...privacyClasses);
/** Few prices and sizes, so that ties and exact fits are frequent. */
const anyUsd = fc.constantFrom(1, 2, 3);
const anyPico = fc.constantFrom(0, 1_000_000, 2_000_000, 5_000_000);

const anyPrices: fc.Arbitrary<Partial<Price>> = fc.record(
  {
    cachedInput: anyPico,
    cacheWrite: anyPico,
    reasoning: anyPico,
    tiers: fc
      .uniqueArray(fc.constantFrom(500, 1500), { minLength: 1 })
      .chain((starts) =>
        fc.tuple(
          ...starts
            .sort((a, b) => a - b)
            .map((abovePromptTokens) =>
              fc.record(
                { abovePromptTokens: fc.constant(abovePromptTokens), input: anyPico, output: anyPico },
                { requiredKeys: ['abovePromptTokens'] },
              ),
            ),
        ),
      ),
  },
  { requiredKeys: [] },
);

const anyCapabilities: fc.Arbitrary<RouteCapabilities> = fc.record(
  {
    tools: fc.boolean(),
    vision: fc.boolean(),
    structuredOutput: fc.boolean(),
    reasoning: fc.record({
      efforts: fc.subarray(['low', 'high']),
      canDisable: fc.boolean(),
    }),
  },
  { requiredKeys: ['tools', 'vision', 'structuredOutput'] },
);

const anySketch = fc.record({
  privacy: anyClass,
  input: anyUsd,
  output: anyUsd,
  price: anyPrices,
  capabilities: anyCapabilities,
  contextLength: fc.constantFrom(undefined, 1000, 2000, 4000),
  maxOutputTokens: fc.constantFrom(undefined, 100, 500, 1500),
  supportedParameters: fc.option(fc.subarray(['seed', 'stop']), { nil: undefined }),
  missingParameters: fc.subarray<ChatParameter>(['seed', 'min_p']),
  exclusiveParameters: fc.constantFrom(undefined, [['tools', 'seed']] as const),
});

export const anyRoute: fc.Arbitrary<Route> = anySketch.map((sketch) => aRoute({ provider: 'acme', ...sketch }));

const anyModel = (id: string): fc.Arbitrary<Model> =>
  fc
    .shuffledSubarray([...providers.keys()], { minLength: 1, maxLength: 5 })
    .chain((ranks) =>
      fc.tuple(...ranks.map((rank) => anySketch.map((sketch) => ({ ...sketch, ...provider(rank), rank })))),
    )
    .map((sketches) => aModel(id, sketches));

function provider(rank: number): Pick<RouteSketch, 'provider' | 'unlisted'> {
  const found = providers[rank];
  if (found === undefined) throw new Error(`no provider of rank ${rank}`);
  return found;
}

export const anyCatalog: fc.Arbitrary<Catalog> = fc
  .tuple(...modelIds.map(anyModel))
  .map((models) => aCatalog(...models));

const anyMaxPrice = fc.record({ input: anyUsd, output: anyUsd }, { requiredKeys: [] });

/** Sets only a few of these fields: a policy that sets all of them leaves no route. */
const someOf = <Fields extends object>(
  most: number,
  fields: { [Name in keyof Fields]: fc.Arbitrary<Fields[Name]> },
): fc.Arbitrary<Partial<Fields>> =>
  fc
    .tuple(fc.record<Fields>(fields), fc.subarray(Object.keys(fields), { maxLength: most }))
    .map(
      ([all, names]) =>
        Object.fromEntries(Object.entries(all).filter(([name]) => names.includes(name))) as Partial<Fields>,
    );

export const anyPreferences: fc.Arbitrary<Preferences> = someOf<Preferences>(4, {
  provider_allow_fallbacks: fc.boolean(),
  provider_max_attempts: fc.integer({ min: 1, max: 3 }),
  provider_minimum_privacy: anyClass,
  provider_sort: fc.constantFrom('default', ...requestSorts),
  provider_ignore: fc.subarray(namable, { maxLength: 2 }),
  privacy_boundary: fc.constantFrom(...boundaries),
  fallback_floor: fc.option(anyClass),
  auto: fc.record({
    strategy: fc.constantFrom('balanced', 'cheapest', 'fastest', 'most_private'),
    tiers: fc.constantFrom(...boundaries),
    models: fc.record({ mode: fc.constantFrom('all', 'only', 'except'), ids: fc.subarray([...modelIds]) }),
  }),
  max_price: fc.option(anyMaxPrice),
}).map(preferring);

export const anyPolicy: fc.Arbitrary<ProviderPolicyObject> = someOf<Required<ProviderPolicyObject>>(3, {
  order: fc.shuffledSubarray(namable, { maxLength: 3 }),
  only: fc.subarray(namable, { minLength: 2 }),
  ignore: fc.subarray(namable, { maxLength: 2 }),
  allow_fallbacks: fc.boolean(),
  sort: fc.constantFrom(...requestSorts),
  minimum_privacy: anyClass,
  max_price: anyMaxPrice,
  require_parameters: fc.boolean(),
  max_attempts: fc.integer({ min: 1, max: 3 }),
});

const anyProvider: fc.Arbitrary<ProviderPolicy | undefined> = fc.oneof(
  { weight: 2, arbitrary: fc.constant(undefined) },
  { weight: 1, arbitrary: fc.constantFrom(...namable) },
  { weight: 5, arbitrary: anyPolicy },
);

const anySuffix = fc.constantFrom('', '', '', ':nitro', ':floor');
/** A request for one exact model. */
export const anyExactRequest: fc.Arbitrary<RoutingRequest> = fc
  .tuple(anySuffix, anyProvider)
  .map(([suffix, policy]) => ({ model: `${theModel}${suffix}`, provider: policy }));
const anyName = fc.tuple(fc.constantFrom(...modelIds, '/auto'), anySuffix).map(([id, suffix]) => `${id}${suffix}`);
/** A request of any kind: exact models, `/auto`, and both with fallback models. */
export const anyRequest: fc.Arbitrary<RoutingRequest> = fc.record({
  model: anyName,
  models: fc.oneof(fc.constant(undefined), fc.array(anyName, { maxLength: 2 })),
  provider: anyProvider,
});

/** Bodies that one ticket allows. They share the model type, the reasoning selection and whether they are encrypted. */
export const anyBodies = (count: number): fc.Arbitrary<Needs[]> =>
  fc
    .tuple(
      fc.record({
        reasoningEffort: fc.constantFrom(undefined, 'low', 'high'),
        reasoningDisabled: fc.boolean(),
        encrypted: fc.constantFrom(false, false, false, true),
      }),
      fc.array(
        fc.record({
          tools: fc.boolean(),
          vision: fc.boolean(),
          structuredOutput: fc.boolean(),
          optionalParameters: fc.subarray(['response_format', 'seed', 'stop'] as const),
          promptTokens: fc.constantFrom(0, 400, 501, 950, 1501, 3900),
          maxOutputTokens: fc.constantFrom(undefined, 1, 101, 501, 1501),
        }),
        { minLength: count, maxLength: count },
      ),
    )
    .map(([bound, bodies]) => bodies.map((body) => needing({ ...bound, ...body })));
/** The body of a request. It has fewer needs than `anyBodies`, so that most requests have a plan. */
export const anyNeeds: fc.Arbitrary<Needs> = fc.oneof(
  fc.constant(needing()),
  anyBodies(1).map(([body]) => body ?? needing()),
);

export const anyStatus: fc.Arbitrary<RouteStatus> = fc
  .tuple(
    fc.subarray(routeIds),
    fc.dictionary(
      fc.constantFrom(...routeIds),
      fc.record({
        requests: fc.constantFrom(5, 20, 100),
        successes: fc.constant(5),
        ttftMs: fc.constantFrom(undefined, 100, 200),
        tokensPerSecond: fc.constantFrom(undefined, 50, 80),
      }),
      { noNullPrototype: true },
    ),
  )
  .map(([penalized, measured]) => ({
    measurements: new Map(Object.entries(measured)),
    penalized: (route) => penalized.includes(route.id),
  }));
