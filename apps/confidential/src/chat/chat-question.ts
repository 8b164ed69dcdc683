import {
  fitToRoute,
  holdOf,
  matchesProvider,
  measureChat,
  planRequest,
  type Route,
  requestedOutputTokens,
} from '@sotto/router';
import {
  type ChatRequest,
  chatRequestSchema,
  parseRequest,
  providerParameters,
  reasoningSelection,
  ServiceError,
} from '@sotto/wire';
import type { AdmissionQuestion } from '../admission/admit.ts';
import type { ProviderSet } from '../providers/provider-set.ts';

export interface ChatQuestion extends AdmissionQuestion {
  readonly chat: ChatRequest;
  readonly stripReasoning: boolean;
  /** The body as a route takes it: without what its provider would refuse. */
  chatFor(route: Route): ChatRequest;
  /** The caller's own parameters for a provider, by its public id, without the ones that are ours. */
  parametersFor(publicProviderId: string): Record<string, unknown>;
}

/** Reads the body of `POST /chat/completions` into what admission and the attempts need. Throws what is wrong with it. */
export function readChatQuestion(body: object, providers: ProviderSet): ChatQuestion {
  const chat = parseRequest(chatRequestSchema, body);
  const reasoning = reasoningSelection(chat);
  if (reasoning === 'conflict') {
    throw new ServiceError('invalid_request', {
      message: '`reasoning_effort` and `reasoning.effort` ask for different efforts. Send one of them.',
      param: 'reasoning_effort',
    });
  }
  const ceiling = requestedOutputTokens(chat);
  if (ceiling === 'conflict') {
    throw new ServiceError('invalid_request', {
      message: '`max_tokens` and `max_completion_tokens` are the same setting and differ. Send one of them.',
      param: 'max_tokens',
    });
  }
  const parameters = providerParameters(body);
  if (!parameters.ok) {
    const message = `\`${parameters.param}\` must be an object of provider parameters, nested at most 64 levels.`;
    throw new ServiceError('invalid_request', { message, param: parameters.param });
  }
  refuseUnclearStrip(parameters.byProvider);
  const { byProvider } = parameters;
  const known = [...byProvider].filter(([named]) => providers.publicIds.some((id) => matchesProvider(named, id)));
  const { needs, size: measured } = measureChat(chat, ceiling);
  // Nobody knows what a provider makes of its own parameters: all of their text counts for the bound.
  const parameterBytes = known.reduce((sum, [, given]) => sum + Buffer.byteLength(JSON.stringify(given)), 0);
  const size = { ...measured, promptTokensAtMost: measured.promptTokensAtMost + parameterBytes };
  return {
    chat,
    needs,
    size,
    bindings: { operation: 'chat', model: chat.model, models: chat.models, provider: chat.provider, reasoning },
    chatFor: (route) => fitToRoute(chat, needs, route),
    stripReasoning: known.some(([, given]) => given.strip_thinking_response === true),
    plan: (context) => planRequest(chat, needs, context),
    holdOf: (attempts) => holdOf(attempts, size),
    totalMs: (first) => providers.get(first.providerId)?.entry.timeouts.total_ms ?? 600_000,
    parametersFor(publicProviderId) {
      const named = [...byProvider].filter(([name]) => matchesProvider(name, publicProviderId));
      // What names a region says more of it than what names its provider.
      named.sort(([a], [b]) => a.length - b.length);
      const given: Record<string, unknown> = Object.fromEntries(named.flatMap(([, own]) => Object.entries(own)));
      const { strip_thinking_response: _, ...own } = given;
      return own;
    },
  };
}

/**
 * What is no boolean would leave a trace in sight that was meant to be hidden. Asked of every provider, known or not,
 * so that it tells nobody which ones there are.
 */
function refuseUnclearStrip(byProvider: ReadonlyMap<string, Record<string, unknown>>): void {
  for (const [providerId, { strip_thinking_response: strip }] of byProvider) {
    if (strip != null && typeof strip !== 'boolean') {
      const param = `${providerId.slice(0, 64)}_parameters.strip_thinking_response`;
      throw new ServiceError('invalid_request', { message: '`strip_thinking_response` must be a boolean.', param });
    }
  }
}
