import type { ChatTarget } from '@sotto/providers';
import { outputCeiling, type RegistryProvider, type Route, reasoningOn } from '@sotto/router';
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
  // What changes the price that the provider asks: the client pays that of the route.
  'service_tier',
  'serviceTier',
  'speed',
  'inference_geo',
  'performanceConfig',
  'best_of',
  'fallbacks',
  'web_search_options',
  'search_parameters',
  'plugins',
  'guardrailConfig',
  'background',
  'modalities',
  'audio',
  'mcp_servers',
  'container',
  'betas',
  'anthropic_beta',
  'safety_identifier',
  // What would be a prompt, or reasoning, beside the ones that were measured and bound by the ticket.
  'functions',
  'function_call',
  'tools',
  'tool_choice',
  'response_format',
  'system',
  'system_instruction',
  'systemInstruction',
  'contents',
  'prompt',
  'documents',
  'prediction',
  'data_sources',
  'reasoning',
  'reasoning_effort',
  'thinking',
  'thinking_config',
  'enable_thinking',
  'thinking_budget',
  'chat_template_kwargs',
  'output_config',
  // Caches of the account's, which other users share.
  'cache_control',
  'cached_content',
  'cachedContent',
  'prompt_cache_key',
  'prompt_cache_retention',
  // What would end in records of the account's.
  'labels',
]);

/** What is particular to one route of a chat request. */
export function chatTarget(question: ChatQuestion, route: Route, provider: RegistryProvider): ChatTarget {
  const own = Object.entries(question.parametersFor(route.publicProviderId)).filter(
    ([name]) => !ours.has(name) && !(name in provider.request.extra_body),
  );
  return {
    upstreamModel: route.upstreamModel,
    maxOutputTokens: outputCeiling(route, question.size),
    reasoning: reasoningOn(route, question.needs, question.bindings.reasoning.enabled === true),
    dialect: provider.request,
    extraBody: { ...Object.fromEntries(own), ...provider.request.extra_body },
  };
}
