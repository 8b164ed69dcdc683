import type { ChatTarget } from '@sotto/providers';
import { outputCeiling, type RegistryProvider, type Route, reasoningOn } from '@sotto/router';
import type { ChatQuestion } from './chat-question.ts';

/** What is particular to one route of a chat request. */
export function chatTarget(question: ChatQuestion, route: Route, provider: RegistryProvider): ChatTarget {
  return {
    upstreamModel: route.upstreamModel,
    maxOutputTokens: outputCeiling(route, question.size),
    reasoning: reasoningOn(route, question.needs, question.bindings.reasoning.enabled === true),
    dialect: provider.request,
    extraBody: { ...question.parametersFor(route.publicProviderId), ...provider.request.extra_body },
  };
}
