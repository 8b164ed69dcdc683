import { comparePrivacy, type PrivacyClass } from '@sotto/wire';
import type { Model, Route } from '../catalog/catalog.ts';
import { matchesProvider } from '../catalog/provider-id.ts';
import type { MergedPolicy } from '../policy/merge-policy.ts';
import { accept, type Decision } from '../policy/refusal.ts';
import { eligibleRoutes, routesThatHold } from './eligibility.ts';
import type { Needs } from './needs.ts';
import { comparisonOf, orderRoutes, type RouteStatus } from './order-routes.ts';

export interface ModelPlan {
  /** In order, before attempts are counted. */
  readonly routes: readonly Route[];
  /** The class of the route that is first on a healthy day: weaker ones are a step down. */
  readonly startsFrom: PrivacyClass;
}

/** The routes of one model that a request may be sent to. */
export function planModel(model: Model, policy: MergedPolicy, needs: Needs, status: RouteStatus): Decision<ModelPlan> {
  const eligible = eligibleRoutes(model, policy, needs);
  if (!eligible.ok) return eligible;
  const byTier = (policy.sort === 'privacy' || policy.sort === 'default') && policy.order.length === 0;
  const holding = routesThatHold(model, eligible.value, needs, byTier);
  if (!holding.ok) return holding;
  // Which class the plan starts from is judged as if every route were healthy: a penalty only reorders, it must never
  // decide how private a request is.
  const healthy = orderRoutes(
    holding.value,
    policy.order,
    comparisonOf(policy.sort, { ...status, penalized: () => false }),
  );
  const startsFrom = healthy[0]?.privacyClass ?? policy.floor;
  const permitted = withinStepDown(healthy, startsFrom, policy);
  return accept({ routes: orderRoutes(permitted, policy.order, comparisonOf(policy.sort, status)), startsFrom });
}

/** Drops the routes weaker than a plan's start that neither the request nor the workspace allows to fall back to. */
export function withinStepDown(
  routes: readonly Route[],
  startsFrom: PrivacyClass,
  policy: MergedPolicy,
): readonly Route[] {
  return routes.filter((route) => {
    if (comparePrivacy(route.privacyClass, startsFrom) >= 0) return true;
    const { statedMinimum, fallbackFloor } = policy;
    if (fallbackFloor !== undefined) return comparePrivacy(route.privacyClass, fallbackFloor) >= 0;
    if (statedMinimum !== undefined && comparePrivacy(route.privacyClass, statedMinimum) >= 0) return true;
    return policy.order.some((entry) => matchesProvider(entry, route.publicProviderId));
  });
}
