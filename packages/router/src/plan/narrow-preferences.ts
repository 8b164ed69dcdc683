import {
  autoModelId,
  boundaryClass,
  comparePrivacy,
  type Preferences,
  type PrivacyClass,
  parseModelReference,
  strongest,
} from '@sotto/wire';
import type { Model } from '../catalog/catalog.ts';
import { type MergedPolicy, mergePolicy, type RequestPreferences } from '../policy/merge-policy.ts';
import { type RequestPolicy, readRequestPolicy } from '../policy/request-policy.ts';
import { autoDemands, autoModels } from './choose-model.ts';
import { type Demands, demandsOf } from './demands.ts';
import { eligibilityRules, firstFailing } from './eligibility.ts';
import type { Needs } from './needs.ts';
import { namesOf, type RoutingRequest } from './plan-request.ts';
import type { PlanningContext } from './planning-context.ts';
import { modelFacts, type RouteFacts } from './route-facts.ts';

/** Preferences for one request; `auto` is absent unless the request asks for `/auto`. */
export type NarrowedPreferences = Omit<RequestPreferences, 'auto' | 'provider_allow'> & {
  readonly provider_allow: readonly string[];
  readonly auto?: Preferences['auto'];
};

/**
 * Reduces a workspace's preferences to those that affect one request. So a ticket reveals no other settings of the
 * workspace. With the result, the request plans as with all preferences, as long as the catalog stays the same. With a
 * later catalog it can reach less, never more.
 *
 * The result names the providers that may serve the request, not those that may not. A list of disabled providers could
 * identify a workspace. It would also let through a disabled provider that gains a route later. Throws for a request
 * that cannot be planned.
 *
 * `promised` is the class that the ticket states. It becomes the floor, because a later catalog may give a route a weaker class, and
 * the request must not be served below what its client was told.
 */
export function narrowPreferences(
  request: RoutingRequest,
  needs: Needs,
  context: Pick<PlanningContext, 'catalog' | 'preferences' | 'status'>,
  promised: PrivacyClass,
): NarrowedPreferences {
  const { preferences } = context;
  const names = namesOf(request);
  const scopes = names.map((name) => scopeOf(name, request, needs, context));
  const [first] = scopes;
  if (first === undefined) throw new Error('a planned request names a model');
  const { policy } = first.demands;
  const minimum = strongest(policy.boundary, preferences.provider_minimum_privacy, policy.statedMinimum, promised);
  const takesSort = scopes.some(({ own }) => own.unset && own.suffixSort === undefined);
  const auto = scopes.find((_, at) => parseModelReference(names[at] ?? '').id === autoModelId);
  return {
    provider_allow_fallbacks: true,
    provider_max_attempts: policy.maxAttempts,
    provider_minimum_privacy: minimum,
    provider_sort: takesSort ? preferences.provider_sort : 'default',
    provider_ignore: [],
    provider_allow: [...new Set(scopes.flatMap(servingIn).map(({ provider }) => provider))].sort(),
    privacy_boundary: 'Standard',
    fallback_floor: policy.fallbackFloor === undefined ? null : strongest(policy.fallbackFloor, minimum),
    max_price: narrowCeilings(policy, scopes),
    ...(auto === undefined ? {} : { auto: narrowAuto(preferences.auto, auto, minimum) }),
  };
}

/** The rules up to this one check a route by policy alone. Later rules also check the body and prices. */
const lastOfPolicy = eligibilityRules.indexOf('ignore');

/** The routes that some body may be sent to, encrypted or not, judged only by class and provider. */
function servingIn({ models, demands }: NamedScope): readonly RouteFacts[] {
  const bodies = [false, true].map((encrypted): Demands => ({ ...demands, needs: { ...demands.needs, encrypted } }));
  return models.flatMap((model) =>
    modelFacts(model).filter((facts) => bodies.some((body) => firstFailing(facts, body) > lastOfPolicy)),
  );
}

/**
 * Price ceilings in USD per million tokens, each lowered to the next price that a route of these models has. They
 * exclude the same routes. All ceilings between two prices become equal, so they do not identify a workspace.
 */
function narrowCeilings({ maxPrice }: MergedPolicy, scopes: readonly NamedScope[]): Preferences['max_price'] {
  const prices = scopes.flatMap(({ models }) =>
    models.flatMap(({ routes }) => routes.flatMap(({ price }) => [price, ...(price.tiers ?? [])])),
  );
  const lowered = (side: 'input' | 'output'): { input?: number; output?: number } => {
    const ceiling = maxPrice[side];
    if (ceiling === Number.POSITIVE_INFINITY) return {};
    const lower = prices.reduce((most, { [side]: price = 0 }) => (price <= ceiling ? Math.max(most, price) : most), 0);
    return { [side]: lower / 1e6 };
  };
  const ceilings = { ...lowered('input'), ...lowered('output') };
  return Object.keys(ceilings).length === 0 ? null : ceilings;
}

/** The settings of `/auto`. A list of models is replaced by the models of this catalog that it allows. */
function narrowAuto(
  { strategy, tiers, models }: Preferences['auto'],
  { models: left }: NamedScope,
  minimum: PrivacyClass,
): Preferences['auto'] {
  return {
    strategy,
    tiers: comparePrivacy(boundaryClass[tiers], minimum) <= 0 ? 'Standard' : tiers,
    models: models.mode === 'all' ? { mode: 'all', ids: [] } : { mode: 'only', ids: left.map(({ id }) => id) },
  };
}

/** The models that one name of a request may select. */
export interface NamedScope {
  /** The request's own policy under this name. */
  readonly own: RequestPolicy;
  readonly models: readonly Model[];
  readonly demands: Demands;
}

/** The scope of one of a request's names. Throws if the policy contradicts itself, so plan the request first. */
export function scopeOf(
  name: string,
  request: RoutingRequest,
  needs: Needs,
  context: Pick<PlanningContext, 'catalog' | 'preferences' | 'status'>,
): NamedScope {
  const { id, suffix } = parseModelReference(name);
  const own = readRequestPolicy(request.provider, suffix);
  if (!own.ok) throw new Error('a policy that was planned with contradicts itself');
  const policy = mergePolicy(context.preferences, own.value);
  if (id === autoModelId) {
    const demands = autoDemands(policy, needs, context.preferences);
    return { own: own.value, models: autoModels(context, demands), demands };
  }
  const model = context.catalog.models.get(id);
  return { own: own.value, models: model === undefined ? [] : [model], demands: demandsOf(policy, needs) };
}
