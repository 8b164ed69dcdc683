import type { EligibleModelsAnswer, RoutingPreview, RoutingPreviewAnswer } from '@sotto/contract/control/routing';
import { nusdToUsd } from '@sotto/money';
import {
  asksForE2ee,
  attemptBounds,
  type Explanation,
  embeddingBounds,
  explainChoice,
  explainPlan,
  holdOf,
  imageBounds,
  type Needs,
  noNeeds,
  type PlanningContext,
  planRequest,
  type RequestSize,
  type Route,
  routingOf,
  speechBounds,
} from '@sotto/router';
import { assertModelsAllowed, autoModelId, parseModelReference, ServiceError } from '@sotto/wire';

/** The prompt size that a preview assumes if none is given. */
const typicalPromptTokens = 1000;

const charactersPerToken = 4;

/** The maximum usage of one attempt, as the broker computes it. */
const boundsOf = {
  text: attemptBounds,
  embedding: embeddingBounds,
  image: imageBounds,
  tts: (_route: Route, { promptTokensAtMost: tokens }: RequestSize) => speechBounds(tokens * charactersPerToken),
} as const;

/**
 * Explains how a request would be routed, with the function that routes requests (docs/use/routing-preferences.md).
 * `workspaceModels` are the models that the policy of the workspace allows, as patterns.
 */
export function previewRouting(
  asked: RoutingPreview,
  context: PlanningContext,
  workspaceModels?: readonly string[],
): RoutingPreviewAnswer {
  const forbidden = refusalOf(() => assertModelsAllowed({ workspaceModels }, asked));
  if (forbidden !== undefined) {
    const nothing = { plan: [], excluded: [], choice: null, hold_usd: null };
    return { model: asked.model, routing: 'exact', ...nothing, refusal: forbidden };
  }

  const { id: modelId } = parseModelReference(asked.model);
  const modelType = context.catalog.models.get(modelId)?.type ?? 'text';
  const promptTokens = asked.prompt_tokens ?? typicalPromptTokens;
  const maxOutputTokens = asked.max_tokens ?? undefined;
  const needs = {
    ...noNeeds(modelType),
    tools: asked.tools ?? false,
    vision: asked.vision ?? false,
    structuredOutput: asked.structured_output ?? false,
    promptTokens,
    maxOutputTokens,
  };
  const { decision, attempts, excluded } = explain(asked, needs, context);
  const size = { promptTokensAtMost: promptTokens, promptTokensLikely: promptTokens, maxOutputTokens };
  const hold = holdOf(attempts, size, boundsOf[modelType]);
  const plan = decision.ok ? decision.value : undefined;
  const [first] = attempts;
  const asksAuto = modelId === autoModelId;
  return {
    model: first?.modelId ?? asked.model,
    routing: plan !== undefined && first !== undefined ? routingOf(plan, first) : asksAuto ? 'auto' : 'exact',
    choice: plan === undefined ? null : (explainChoice(plan, needs, context)?.text ?? null),
    plan: attempts.map((route) => ({
      model: route.modelId,
      provider: route.publicProviderId,
      privacy_class: route.privacyClass,
      pricing: route.pricing,
      penalized: context.status.penalized(route),
      shares_traffic: plan?.shares.some(({ id }) => id === route.id) ?? false,
    })),
    excluded: excluded.map(({ route, rule, message }) => ({
      model: route.modelId,
      provider: route.publicProviderId,
      rule,
      message,
    })),
    hold_usd: decision.ok ? nusdToUsd(hold) : null,
    refusal: decision.ok ? null : { type: decision.refusal.type, message: decision.refusal.message },
  };
}

function refusalOf(assert: () => void): { readonly type: string; readonly message: string } | undefined {
  try {
    assert();
    return undefined;
  } catch (error) {
    if (error instanceof ServiceError) return { type: error.type, message: error.message };
    throw error;
  }
}

/**
 * Explains a plan in the same way as tickets are minted: end-to-end encryption if it is asked for and no plaintext
 * route qualifies.
 */
function explain(asked: RoutingPreview, needs: Needs, context: PlanningContext): Explanation {
  const plain = explainPlan(asked, needs, context);
  if (plain.decision.ok || !asksForE2ee(asked.provider, context.preferences)) return plain;
  const encrypted = explainPlan(asked, { ...needs, encrypted: true }, context);
  return encrypted.decision.ok ? encrypted : plain;
}

/** Lists the models that preferences allow, each with its eligible providers in order. */
export function eligibleModels(context: PlanningContext): EligibleModelsAnswer {
  // Preferences that require end-to-end encryption rule out plaintext requests.
  const encrypted = context.preferences.provider_minimum_privacy === 'e2ee';
  const data = [...context.catalog.models.values()].flatMap(({ id, type }) => {
    const plan = planRequest({ model: id }, { ...noNeeds(type), encrypted }, context);
    if (!plan.ok) return [];
    return [{ id, providers: [...new Set(plan.value.routes.map((route) => route.publicProviderId))] }];
  });
  return { data };
}
