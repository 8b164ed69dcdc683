import type { UpstreamTarget } from '@sotto/providers';
import { outputCeiling, type RegistryProvider, type Route } from '@sotto/router';
import type { ChatQuestion } from './chat-question.ts';

/** Fields of a request that are ours to set: a caller's provider parameters may not replace them. */
const ours: ReadonlySet<string> = new Set([
  'model',
  'models',
  'messages',
  'input',
  'stream',
  'stream_options',
  'max_tokens',
  'max_completion_tokens',
  'n',
  'provider',
  'user',
  'metadata',
  'store',
]);

/** What is particular to one route of a chat request. */
export function chatTarget(question: ChatQuestion, route: Route, provider: RegistryProvider): UpstreamTarget {
  const { reasoningEffort } = question.needs;
  const offered = reasoningEffort !== undefined && route.capabilities.reasoning?.efforts.includes(reasoningEffort);
  const own = Object.entries(question.parametersFor(route.providerId)).filter(
    ([name]) => !ours.has(name) && !(name in provider.request.extra_body),
  );
  return {
    upstreamModel: route.upstreamModel,
    maxOutputTokens: outputCeiling(route, question.size),
    reasoningEffort: offered ? reasoningEffort : undefined,
    maxTokensField: provider.request.max_tokens_field,
    extraBody: { ...Object.fromEntries(own), ...provider.request.extra_body },
  };
}
