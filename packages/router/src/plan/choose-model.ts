import { comparablePrice } from '@sotto/money';
import { comparePrivacy, strongest } from '@sotto/wire';
import type { Model, Route } from '../catalog/catalog.ts';
import { reliable } from '../health/measurement.ts';
import type { MergedPolicy } from '../policy/merge-policy.ts';
import { boundaryClass, type Preferences } from '../policy/preferences.ts';
import { accept, type Decision, refuse } from '../policy/refusal.ts';
import type { Needs } from './needs.ts';
import type { RouteStatus } from './order-routes.ts';
import { type ModelPlan, planModel } from './plan-model.ts';
import type { PlanningContext } from './planning-context.ts';

/**
 * Chooses the model for `/auto` (interface 2.2, rule 6; 2.8): among the models that the workspace allows and that have
 * an eligible route under the policy, the best first route by the workspace's strategy; catalog order breaks ties.
 */
export function chooseModel(
  { catalog, preferences, status }: PlanningContext,
  policy: MergedPolicy,
  needs: Needs,
): Decision<ModelPlan> {
  const { strategy, tiers, models } = preferences.auto;
  const narrowed: MergedPolicy = {
    ...policy,
    floor: strongest(policy.floor, boundaryClass[tiers]),
    // Where the allowed tiers demand as much as the sort does, asking for `anonymous` would not help.
    floorCarriedBySort: policy.floorCarriedBySort && tiers === 'Standard',
  };
  const allowed = (model: Model): boolean =>
    model.type === needs.modelType &&
    (models.mode === 'all' || models.ids.includes(model.id) === (models.mode === 'only'));
  let best: ModelPlan | undefined;
  let furthest = -1;
  for (const model of catalog.models.values()) {
    if (!allowed(model)) continue;
    const planned = planModel(model, narrowed, needs, status);
    if (!planned.ok) {
      furthest = Math.max(
        furthest,
        stages.findIndex(({ type }) => type === planned.refusal.type),
      );
    } else if (best === undefined || compareByStrategy(strategy, planned.value, best, status) < 0) {
      best = planned.value;
    }
  }
  return best === undefined ? refusalAt(furthest, narrowed) : accept(best);
}

/** Where the models drop out, in the order of errors (design 6): the last of these that any model reached is the error. */
const stages = [
  { type: 'privacy_boundary_not_met', lacks: 'within the workspace privacy boundary', param: undefined },
  { type: 'no_provider_route_meets_privacy', lacks: 'that meets the privacy floor', param: undefined },
  { type: 'no_provider_route', lacks: 'that is eligible under the policy', param: 'provider' },
  { type: 'no_provider_route_meets_price', lacks: 'within the price ceiling', param: 'provider.max_price' },
  { type: 'context_too_large', lacks: 'that holds the prompt plus the requested output', param: undefined },
] as const;

function refusalAt(furthest: number, { floor, sort, floorCarriedBySort }: MergedPolicy): ReturnType<typeof refuse> {
  const stage = stages[furthest];
  if (stage === undefined) return refuse('no_provider_route', 'There is no model that `/auto` may choose.');
  const { type, lacks, param } = stage;
  const sentence = `No model that \`/auto\` may choose has a provider ${lacks}`;
  if (type !== 'no_provider_route_meets_privacy') return refuse(type, `${sentence}.`, param);
  const asked = floorCarriedBySort
    ? `, which sorting by ${sort} asks for. To allow anonymous providers, send \`provider.minimum_privacy: "anonymous"\`.`
    : '.';
  return refuse(type, `${sentence} (${floor} or stronger)${asked}`);
}

function compareByStrategy(
  strategy: Preferences['auto']['strategy'],
  left: ModelPlan,
  right: ModelPlan,
  status: RouteStatus,
): number {
  const [a, b] = [left.routes[0], right.routes[0]];
  if (a === undefined || b === undefined) return 0;
  const health = Number(status.penalized(a)) - Number(status.penalized(b));
  const privacy = comparePrivacy(b.privacyClass, a.privacyClass);
  const price = comparablePrice(a.price) - comparablePrice(b.price);
  const speed = speedOf(a, status) - speedOf(b, status);
  switch (strategy) {
    case 'cheapest':
      return health || price || privacy;
    case 'fastest':
      return health || speed || price || privacy;
    case 'most_private':
      return privacy || health || price;
    case 'balanced':
      return health || privacy || price || speed;
    default:
      return strategy satisfies never;
  }
}

/** Median time to first token; a route that is not measured counts as slower than any that is, by a finite amount. */
const speedOf = (route: Route, status: RouteStatus): number =>
  reliable(status.measurements, route.id)?.ttftMs ?? Number.MAX_SAFE_INTEGER;
