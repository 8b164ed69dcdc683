import {
  allowsModel,
  autoModelId,
  type ModelAnswer,
  type ModelListAnswer,
  type ModelRules,
  type RouteAnswer,
  relayAttacksOnFamily,
} from '@sotto/wire';
import { noNeeds } from '../plan/needs.ts';
import { planRequest } from '../plan/plan-request.ts';
import type { PlanningContext } from '../plan/planning-context.ts';
import type { Model, Route } from './catalog.ts';

/** The models and their routes as users see them, those that the rules of a key allow. `created` is in Unix seconds. */
export function modelList(context: PlanningContext, created: number, rules: ModelRules = {}): ModelListAnswer {
  const models = [...context.catalog.models.values()].filter((model) => model.routes.length > 0);
  const isAllowed = ({ id }: { readonly id: string }): boolean => allowsModel(rules, id);
  const entries = models.filter(isAllowed).map((model) => modelEntry(model, context, created));
  return { object: 'list', data: [...[autoEntry(created)].filter(isAllowed), ...entries] };
}

function modelEntry(model: Model, context: PlanningContext, created: number): ModelAnswer {
  const plan = planRequest({ model: model.id }, noNeeds(model.type), context);
  const auto = plan.ok ? plan.value.routes[0] : undefined;
  return {
    id: model.id,
    object: 'model',
    created,
    owned_by: model.id.split('/')[0] ?? '',
    name: model.name,
    model_type: model.type,
    context_length: model.contextLength ?? null,
    max_output_tokens: model.maxOutputTokens ?? null,
    ...(model.auto ? {} : { auto: false as const }),
    provider_routes: model.routes.map(routeEntry),
    auto_provider: auto?.publicProviderId ?? null,
    privacy_class: auto?.privacyClass ?? null,
    capabilities: auto === undefined ? null : routeEntry(auto).capabilities,
    pricing: auto?.pricing ?? null,
  };
}

const autoEntry = (created: number): ModelAnswer => ({
  id: autoModelId,
  object: 'model',
  created,
  owned_by: 'sotto',
  name: 'Auto',
  model_type: 'text',
  context_length: null,
  max_output_tokens: null,
  provider_routes: [],
  auto_provider: null,
  privacy_class: null,
  capabilities: null,
  pricing: null,
});

function routeEntry(route: Route): RouteAnswer {
  const { tools, vision, structuredOutput, reasoning } = route.capabilities;
  return {
    provider: route.publicProviderId,
    privacy_class: route.privacyClass,
    pricing: route.pricing,
    capabilities: {
      tools,
      vision,
      structured_output: structuredOutput,
      reasoning: reasoning ? { efforts: [...reasoning.efforts], can_disable: reasoning.canDisable } : null,
    },
    context_length: route.contextLength ?? null,
    max_output_tokens: route.maxOutputTokens ?? null,
    ...(route.supportedParameters === undefined ? {} : { supported_parameters: [...route.supportedParameters] }),
    ...(route.insecureHttp ? { insecure_http: true } : {}),
    ...(route.privacyClass === 'e2ee' && route.enclaveFamily !== undefined
      ? { relay_attacks: [...relayAttacksOnFamily(route.enclaveFamily)] }
      : {}),
  };
}
