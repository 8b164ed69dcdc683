import { autoModelId, type ModelSuffix, type ProviderPolicy, parseModelReference } from '@sotto/wire';
import type { Model, Route } from '../catalog/catalog.ts';
import { type MergedPolicy, mergePolicy } from '../policy/merge-policy.ts';
import { accept, type Decision, type Refusal, refuse } from '../policy/refusal.ts';
import { readRequestPolicy } from '../policy/request-policy.ts';
import { autoDemands, chooseModel } from './choose-model.ts';
import { demandsOf } from './demands.ts';
import type { Needs } from './needs.ts';
import { drawn, isWithinStepDown, type ModelPlan, planModel } from './plan-model.ts';
import type { PlanningContext } from './planning-context.ts';

/** The fields of a request that decide where it may go. */
export interface RoutingRequest {
  readonly model: string;
  /** Fallback models, in order. */
  readonly models?: readonly string[] | null | undefined;
  readonly provider?: ProviderPolicy | null | undefined;
}

/** The choice of `/auto`. `explainChoice` gives the reasons. */
export interface Choice {
  readonly modelId: string;
  /** The route that won for the model. If it shares traffic, another one may be first in the plan. */
  readonly route: Route;
  /** The request's policy, narrowed to the tiers that the workspace lets `/auto` use. */
  readonly policy: MergedPolicy;
}

/** The ordered routes chosen for one request. */
export interface Plan {
  /** The models that are in the plan because `/auto` chose them. */
  readonly autoModelIds: ReadonlySet<string>;
  /** Every route that the request may be sent to, in order. Only the first `maxAttempts` are tried. */
  readonly routes: readonly Route[];
  readonly maxAttempts: number;
  readonly policy: MergedPolicy;
  /** The routes that each go first for an equal share of such requests, best first. Empty if only one does. */
  readonly shares: readonly Route[];
  /** Set if `/auto` chose the first model. */
  readonly choice?: Choice;
}

/** Whether `/auto` chose the model that a route of the plan serves. */
export const routingOf = ({ autoModelIds }: Plan, { modelId }: Route): 'auto' | 'exact' =>
  autoModelIds.has(modelId) ? 'auto' : 'exact';

/** The routes of a plan that can be tried. */
export const attemptsOf = (plan: Plan): readonly Route[] => plan.routes.slice(0, plan.maxAttempts);

/**
 * Decides where a request may go and in which order. Tickets, requests and previews all use this function. Refusals
 * come in this order: model, boundary, floor, providers and capabilities, price, context.
 */
export function planRequest(request: RoutingRequest, needs: Needs, context: PlanningContext): Decision<Plan> {
  const references = modelReferences(request);
  if (!references.ok) return references;
  const policyOf = (suffix: ModelSuffix | undefined): Decision<MergedPolicy> => {
    const own = readRequestPolicy(request.provider, suffix);
    return own.ok ? accept(mergePolicy(context.preferences, own.value)) : own;
  };
  const policy = policyOf(references.value[0]?.suffix);
  if (!policy.ok) return policy;

  // Keyed by id, so that a model which is named twice, or named and chosen by `/auto`, has each route once.
  const routes = new Map<string, Route>();
  let first: PlannedReference | undefined;
  const autoModelIds = new Set<string>();
  let refusal: Refusal | undefined;
  for (const reference of references.value) {
    const own = policyOf(reference.suffix);
    if (!own.ok) return own;
    const planned = planReference(reference.id, own.value, needs, context);
    if (planned.ok) {
      const { choice } = planned.value;
      // A model that the request named earlier is tried because it was named.
      if (choice !== undefined && ![...routes.values()].some(({ modelId }) => modelId === choice.modelId)) {
        autoModelIds.add(choice.modelId);
      }
      const inOrder = first === undefined ? drawn(planned.value, context.random) : planned.value.routes;
      for (const route of inOrder) if (!routes.has(route.id)) routes.set(route.id, route);
      first ??= planned.value;
    }
    // An unknown model, or one of another type, is always the caller's mistake. A model without a route at present is
    // skipped.
    else if (planned.refusal.type === 'model_not_found' || planned.refusal.type === 'invalid_request') return planned;
    else refusal ??= planned.refusal;
  }
  if (first === undefined) {
    return refusal === undefined ? refuse('model_not_found', 'No model was named.', 'model') : { ok: false, refusal };
  }
  const { startsFrom, sharing, choice } = first;
  return accept({
    autoModelIds,
    routes: [...routes.values()].filter((route) => isWithinStepDown(route, startsFrom, policy.value)),
    // An encrypted request is bound to one provider's attested key, so no other provider can read it.
    maxAttempts: needs.encrypted ? 1 : policy.value.maxAttempts,
    policy: policy.value,
    shares: sharing > 1 ? first.routes.slice(0, sharing) : [],
    ...(choice === undefined ? {} : { choice }),
  });
}

interface PlannedReference extends ModelPlan {
  readonly choice?: Choice;
}

function planReference(
  id: string,
  policy: MergedPolicy,
  needs: Needs,
  context: PlanningContext,
): Decision<PlannedReference> {
  if (id === autoModelId) return planAuto(policy, needs, context);
  const model = context.catalog.models.get(id);
  if (model === undefined)
    return refuse(
      'model_not_found',
      `The model \`${id}\` does not exist or is not enabled. \`GET /v1/models\` lists those that are.`,
      'model',
    );
  const mismatch = typeMismatch(model, needs);
  return mismatch ?? planModel(model, demandsOf(policy, needs), context.status);
}

function planAuto(policy: MergedPolicy, needs: Needs, context: PlanningContext): Decision<PlannedReference> {
  const demands = autoDemands(policy, needs, context.preferences);
  const chosen = chooseModel(context, demands);
  if (!chosen.ok) return chosen;
  const { model, now } = chosen.value;
  const planned = planModel(model, demands, context.status);
  if (!planned.ok) return planned;
  return accept({ ...planned.value, choice: { modelId: model.id, route: now.route, policy: demands.policy } });
}

const endpoints = {
  text: '/chat/completions',
  embedding: '/embeddings',
  image: '/images/generations',
  tts: '/audio/speech',
} as const;

function typeMismatch(model: Model, needs: Needs): ReturnType<typeof refuse> | undefined {
  if (model.type === needs.modelType) return undefined;
  const message = `${model.id} is not served here: it is a model of type \`${model.type}\`, for ${endpoints[model.type]}.`;
  return refuse('invalid_request', message, 'model');
}

/** The names of a request, `model` first, without repetitions. */
export const namesOf = ({ model, models }: RoutingRequest): readonly string[] => [
  ...new Set([model, ...(models ?? [])]),
];

/** The names of a request, parsed. Refuses more than 3 models. */
function modelReferences(request: RoutingRequest): Decision<{ id: string; suffix?: ModelSuffix }[]> {
  const names = namesOf(request);
  if (names.length > 3) {
    return refuse('invalid_request', '`models` may name at most 3 models, of which `model` is the first.', 'models');
  }
  return accept(names.map(parseModelReference));
}
