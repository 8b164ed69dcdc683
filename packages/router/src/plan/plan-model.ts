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
import { type Standing, standingsOf } from './standing.ts';

export interface ModelPlan {
  /** In order, before attempts are counted. */
  readonly routes: readonly Route[];
  /** The class of the route that is first on a healthy day: weaker ones are a step down. */
  readonly startsFrom: PrivacyClass;
  /** How many of the first routes share traffic; which of them goes first is not drawn yet. */
  readonly sharing: number;
}

/** The routes of one model that a request may be sent to, best first. */
export function planModel(model: Model, demands: Demands, status: RouteStatus): Decision<ModelPlan> {
  const eligible = eligibleRoutes(model, standingsOf(model, status.measurements), demands);
  if (!eligible.ok) return eligible;
  const healthy = healthyDay(model, eligible.value, demands);
  if (!healthy.ok) return healthy;
  const { first, inOrder } = ordersOf(healthy.value, demands, status);
  return accept({
    routes: inOrder.map(({ standing }) => standing.route),
    startsFrom: first.route.privacyClass,
    sharing: sharing(inOrder, demands.policy),
  });
}

/** Which route of a model comes first, before any of those that share traffic is drawn. */
export interface Lead {
  readonly model: Model;
  /** On a day when every route is healthy. */
  readonly first: Standing;
  /** At this moment. */
  readonly now: Standing;
  /** Whether `now` has failed recently: then so has every other route that could stand in for it. */
  readonly isPenalized: boolean;
}

/** The lead of one model; undefined where it has no route for the request. The first of what `planModel` says. */
export function leadOf(model: Model, demands: Demands, status: RouteStatus): Lead | undefined {
  const eligible = keptBy(demands, standingsOf(model, status.measurements));
  if (eligible.length === 0) return undefined;
  const healthy = healthyDay(model, eligible, demands);
  if (!healthy.ok) return undefined;
  const { standing: first } = foremost(healthy.value, demands.policy);
  // A route that is first on a healthy day and is healthy is first today: penalties only move routes back.
  if (!status.penalized(first.route)) return { model, first, now: first, isPenalized: false };
  const now = ordersOf(healthy.value, demands, status).inOrder[0]?.standing ?? first;
  return { model, first, now, isPenalized: status.penalized(now.route) };
}

/**
 * Of the routes that every rule keeps, those for a request on a day when every route is healthy, in no order yet. That day says which class the plan
 * starts from: a penalty only reorders, it must never decide how private a request is.
 */
function healthyDay(
  model: Model,
  kept: readonly Standing[],
  { policy, needs }: Demands,
): Decision<readonly Arranged[]> {
  const eligible = aboveFallbackFloor(kept, policy);
  const all = arrange(eligible, policy);
  const start = goesByTier(policy) ? foremost(all, policy).standing.route.privacyClass : undefined;
  const holding = routesThatHold(model, eligible, needs, start);
  if (!holding.ok) return holding;
  if (holding.value.length === eligible.length) return accept(all);
  const arranged = arrange(holding.value, policy);
  const least = start === undefined ? 0 : strengthOf(start);
  // Only under Default: what made an enclave worth its price may be too small for this request, so that a weaker tier
  // would go ahead of the enclaves that remain.
  if (foremost(arranged, policy).standing.strength >= least) return accept(arranged);
  return accept(arranged.filter(({ standing }) => standing.strength >= least));
}

/**
 * Under the sort Default the fallback floor applies first (interface 3.4, rule 1): a weaker tier than a workspace lets a
 * request fall back to does not go first either, unless there is no other.
 */
function aboveFallbackFloor(eligible: readonly Standing[], { sort, fallbackFloor }: MergedPolicy): readonly Standing[] {
  if (sort !== 'default' || fallbackFloor === undefined) return eligible;
  const least = strengthOf(fallbackFloor);
  const above = eligible.filter(({ strength }) => strength >= least);
  return above.length === 0 ? eligible : above;
}

function ordersOf(
  healthy: readonly Arranged[],
  { policy }: Demands,
  status: RouteStatus,
): { readonly first: Standing; readonly inOrder: readonly Arranged[] } {
  const sorted = [...healthy].sort(comparisonOf(policy));
  const { standing: first } = foremost(healthy, policy);
  const permitted = sorted.filter(({ standing }) => isWithinStepDown(standing.route, first.route.privacyClass, policy));
  return { first, inOrder: withPenalties(permitted, policy, status.penalized) };
}

/** Whether a tier is chosen first, and a route within it then. */
export const goesByTier = ({ sort, order }: MergedPolicy): boolean =>
  (sort === 'privacy' || sort === 'default') && order.length === 0;

/** The first of the order of one route or more, without making that order. */
function foremost(routes: readonly Arranged[], policy: MergedPolicy): Arranged {
  const compare = comparisonOf(policy);
  let best = routes[0];
  for (const each of routes) if (best === undefined || compare(each, best) < 0) best = each;
  if (best === undefined) throw new Error('there is no route to begin with');
  return best;
}

/** Whether a plan that starts from a class may use a route: one that is weaker needs the request's word or the workspace's. */
export function isWithinStepDown(route: Route, startsFrom: PrivacyClass, policy: MergedPolicy): boolean {
  if (comparePrivacy(route.privacyClass, startsFrom) >= 0) return true;
  const { statedMinimum, fallbackFloor } = policy;
  if (fallbackFloor !== undefined) return comparePrivacy(route.privacyClass, fallbackFloor) >= 0;
  if (statedMinimum !== undefined && comparePrivacy(route.privacyClass, statedMinimum) >= 0) return true;
  return policy.order.some((entry) => matchesProvider(entry, route.publicProviderId));
}

/** A plan's routes with the first one drawn from those that share traffic; the others stay as they are. */
export function drawn({ routes, sharing: sharers }: ModelPlan, random: PlanningContext['random']): readonly Route[] {
  const at = sharers < 2 ? 0 : Math.min(Math.floor(random() * sharers), sharers - 1);
  const first = routes[at];
  return at === 0 || first === undefined ? routes : [first, ...routes.slice(0, at), ...routes.slice(at + 1)];
}
