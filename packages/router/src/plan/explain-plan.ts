import { autoModelId, parseModelReference } from '@sotto/wire';
import type { Model, Route } from '../catalog/catalog.ts';
import type { Decision } from '../policy/refusal.ts';
import { readRequestPolicy } from '../policy/request-policy.ts';
import type { Demands } from './demands.ts';
import { type EligibilityRule, exclusionOf } from './eligibility.ts';
import { scopeOf } from './narrow-preferences.ts';
import { holds, type Needs } from './needs.ts';
import { attemptsOf, namesOf, type Plan, planRequest, type RoutingRequest } from './plan-request.ts';
import type { PlanningContext } from './planning-context.ts';
import { factsOf } from './route-facts.ts';

/** A route that is not in a plan, and the rule that excluded it. */
export interface Exclusion {
  readonly route: Route;
  readonly rule: EligibilityRule | 'context' | 'step_down' | 'attempts';
  /** In words for people. */
  readonly message: string;
}

export interface Explanation {
  /** The decision that the real request would get. The same function makes it. */
  readonly decision: Decision<Plan>;
  /** The routes that would be tried, in order. */
  readonly attempts: readonly Route[];
  /** Every other route of the requested models. For `/auto`, of the model that it chose. */
  readonly excluded: readonly Exclusion[];
}

/** Makes the decision for a request, and says why each other route was excluded. The routing preview shows this. */
export function explainPlan(request: RoutingRequest, needs: Needs, context: PlanningContext): Explanation {
  const decision = planRequest(request, needs, context);
  const plan = decision.ok ? decision.value : undefined;
  const attempts = plan === undefined ? [] : attemptsOf(plan);
  const tried = new Set(attempts.map(({ id }) => id));
  const excluded = modelsOf(request, needs, plan, context).flatMap(({ model, demands }) =>
    model.routes.filter(({ id }) => !tried.has(id)).map((route) => ({ route, ...reasonOf(route, demands, plan) })),
  );
  const once = new Map(excluded.map((exclusion) => [exclusion.route.id, exclusion]));
  return { decision, attempts, excluded: [...once.values()] };
}

function reasonOf(route: Route, demands: Demands, plan: Plan | undefined): Pick<Exclusion, 'rule' | 'message'> {
  const excluded = exclusionOf(factsOf(route), demands);
  if (excluded !== undefined) return excluded;
  if (!holds(route, demands.needs)) {
    return { rule: 'context', message: 'Prompt and requested output do not fit its context window or output limit.' };
  }
  if (plan?.routes.some(({ id }) => id === route.id)) {
    const count = plan.maxAttempts === 1 ? 'one provider is' : `${plan.maxAttempts} providers are`;
    const isSharing = plan.shares.some(({ id }) => id === route.id);
    const when = isSharing
      ? 'It shares traffic: for other requests it goes first. Here it would come later'
      : 'It would come later';
    return { rule: 'attempts', message: `${when}: at most ${count} tried.` };
  }
  return {
    rule: 'step_down',
    message: `It is \`${route.privacyClass}\`: a fallback does not step down to a weaker tier unless the request or the workspace allows it.`,
  };
}

/** The models that a request names, each with its own demands: a suffix sets the sort, `/auto` has its own tiers. */
function modelsOf(
  request: RoutingRequest,
  needs: Needs,
  plan: Plan | undefined,
  context: PlanningContext,
): { readonly model: Model; readonly demands: Demands }[] {
  return namesOf(request).flatMap((name) => {
    const { id, suffix } = parseModelReference(name);
    if (!readRequestPolicy(request.provider, suffix).ok) return [];
    const { models, demands } = scopeOf(name, request, needs, context);
    const shown = id === autoModelId ? models.filter((model) => model.id === plan?.choice?.modelId) : models;
    return shown.map((model) => ({ model, demands }));
  });
}
