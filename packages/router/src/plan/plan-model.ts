import { comparePrivacy, type PrivacyClass } from '@sotto/wire';
import type { Model, Route } from '../catalog/catalog.ts';
import { matchesProvider } from '../catalog/provider-id.ts';
import type { MergedPolicy } from '../policy/merge-policy.ts';
import { accept, type Decision } from '../policy/refusal.ts';
import type { Demands } from './demands.ts';
import { eligibleRoutes, keptBy, routesThatHold } from './eligibility.ts';
import { type Arranged, arrange, comparisonOf, type RouteStatus, sharing, withPenalties } from './order-routes.ts';
import type { PlanningContext } from './planning-context.ts';
import { strengthOf } from './route-facts.ts';
import { type ScoredRoute, scoredRoutesOf } from './scored-route.ts';

export interface ModelPlan {
  /** In order, before the number of attempts is limited. */
  readonly routes: readonly Route[];
  /** The class of the route that is first if all are healthy. Weaker classes are a step down. */
  readonly startsFrom: PrivacyClass;
  /** How many of the first routes share traffic. The one that goes first is not drawn yet. */
  readonly sharing: number;
}

/** The routes of one model that a request may be sent to, best first. */
export function planModel(model: Model, demands: Demands, status: RouteStatus): Decision<ModelPlan> {
  const eligible = eligibleRoutes(model, scoredRoutesOf(model, status.measurements), demands);
  if (!eligible.ok) return eligible;
  const healthy = healthyDay(model, eligible.value, demands);
  if (!healthy.ok) return healthy;
  const { first, inOrder } = ordersOf(healthy.value, demands, status);
  return accept({
    routes: inOrder.map(({ scored }) => scored.route),
    startsFrom: first.route.privacyClass,
    sharing: sharing(inOrder, demands.policy),
  });
}

/** The route of a model that comes first, before one of those that share traffic is drawn. */
export interface Lead {
  readonly model: Model;
  /** If every route were healthy. */
  readonly first: ScoredRoute;
  readonly now: ScoredRoute;
  /** Whether `now` failed recently. Then every other route that could replace it has failed too. */
  readonly isPenalized: boolean;
}

/** The lead of one model: the first route of `planModel`. Undefined if it has no route for the request. */
export function leadOf(model: Model, demands: Demands, status: RouteStatus): Lead | undefined {
  const eligible = keptBy(demands, scoredRoutesOf(model, status.measurements));
  if (eligible.length === 0) return undefined;
  const healthy = healthyDay(model, eligible, demands);
  if (!healthy.ok) return undefined;
  const { scored: first } = foremost(healthy.value, demands.policy);
  // Penalties only move routes back. So if the usual first route is healthy, it is first now.
  if (!status.penalized(first.route)) return { model, first, now: first, isPenalized: false };
  const now = ordersOf(healthy.value, demands, status).inOrder[0]?.scored ?? first;
  return { model, first, now, isPenalized: status.penalized(now.route) };
}

/**
 * The routes that can take the request as if every route were healthy, unordered. This decides the class from which the
 * plan starts. A penalty may reorder routes, but must never decide how private a request is.
 */
function healthyDay(
  model: Model,
  kept: readonly ScoredRoute[],
  { policy, needs }: Demands,
): Decision<readonly Arranged[]> {
  const eligible = aboveFallbackFloor(kept, policy);
  const all = arrange(eligible, policy);
  const start = goesByTier(policy) ? foremost(all, policy).scored.route.privacyClass : undefined;
  const holding = routesThatHold(model, eligible, needs, start);
  if (!holding.ok) return holding;
  if (holding.value.length === eligible.length) return accept(all);
  const arranged = arrange(holding.value, policy);
  const least = start === undefined ? 0 : strengthOf(start);
  // Only under Default: the private route that made an enclave too expensive may be too small for this request. Then a
  // weaker tier would go ahead of the enclaves that remain.
  if (foremost(arranged, policy).scored.strength >= least) return accept(arranged);
  return accept(arranged.filter(({ scored }) => scored.strength >= least));
}

/**
 * Under the sort Default, the fallback floor applies first. A tier below the workspace's fallback floor does not go
 * first either, unless no other tier is left.
 */
function aboveFallbackFloor(
  eligible: readonly ScoredRoute[],
  { sort, fallbackFloor }: MergedPolicy,
): readonly ScoredRoute[] {
  if (sort !== 'default' || fallbackFloor === undefined) return eligible;
  const least = strengthOf(fallbackFloor);
  const above = eligible.filter(({ strength }) => strength >= least);
  return above.length === 0 ? eligible : above;
}

function ordersOf(
  healthy: readonly Arranged[],
  { policy }: Demands,
  status: RouteStatus,
): { readonly first: ScoredRoute; readonly inOrder: readonly Arranged[] } {
  const sorted = [...healthy].sort(comparisonOf(policy));
  const { scored: first } = foremost(healthy, policy);
  const permitted = sorted.filter(({ scored }) => isWithinStepDown(scored.route, first.route.privacyClass, policy));
  return { first, inOrder: withPenalties(permitted, policy, status.penalized) };
}

/** Whether the sort first chooses a tier, and then a route within it. */
export const goesByTier = ({ sort, order }: MergedPolicy): boolean =>
  (sort === 'privacy' || sort === 'default') && order.length === 0;

/** The first route of an order, without sorting. Throws for an empty list. */
function foremost(routes: readonly Arranged[], policy: MergedPolicy): Arranged {
  const compare = comparisonOf(policy);
  let best = routes[0];
  for (const each of routes) if (best === undefined || compare(each, best) < 0) best = each;
  if (best === undefined) throw new Error('there is no route to begin with');
  return best;
}

/**
 * Whether a plan that starts from a class may use a route. A weaker route needs permission from the request or the
 * workspace.
 */
export function isWithinStepDown(route: Route, startsFrom: PrivacyClass, policy: MergedPolicy): boolean {
  if (comparePrivacy(route.privacyClass, startsFrom) >= 0) return true;
  const { statedMinimum, fallbackFloor } = policy;
  if (fallbackFloor !== undefined) return comparePrivacy(route.privacyClass, fallbackFloor) >= 0;
  if (statedMinimum !== undefined && comparePrivacy(route.privacyClass, statedMinimum) >= 0) return true;
  return policy.order.some((entry) => matchesProvider(entry, route.publicProviderId));
}

/** A plan's routes, with the first one drawn from those that share traffic. The others keep their order. */
export function drawn({ routes, sharing: sharers }: ModelPlan, random: PlanningContext['random']): readonly Route[] {
  const at = sharers < 2 ? 0 : Math.min(Math.floor(random() * sharers), sharers - 1);
  const first = routes[at];
  return at === 0 || first === undefined ? routes : [first, ...routes.slice(0, at), ...routes.slice(at + 1)];
}
