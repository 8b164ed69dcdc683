import { areJsonTextsWithinBounds } from '@sotto/http';
import {
  attemptBounds,
  fitToRoute,
  holdOf,
  maxSchemaBytes,
  measureChat,
  planRequest,
  type Route,
  requestedOutputTokens,
} from '@sotto/router';
import { type ChatRequest, chatRequestSchema, parseRequest, reasoningSelection, ServiceError } from '@sotto/wire';
import type { AdmissionQuestion } from '../admission/admit.ts';
import type { ProviderSet } from '../providers/provider-set.ts';
import { readParameters } from './provider-parameters.ts';

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
  const ceiling = requestedOutputTokens(chat);
  if (ceiling === 'conflict') {
    throw new ServiceError('invalid_request', {
      message: '`max_tokens` and `max_completion_tokens` are the same setting and differ. Send one of them.',
      param: 'max_tokens',
    });
  }
  refuseHeavyArguments(chat);
  const parameters = readParameters(body, providers);
  const { needs, size: measured, oversized } = measureChat(chat, ceiling);
  if (oversized !== undefined) {
    const { param, bytes } = oversized;
    const message = `\`${param}\` is ${bytes} bytes long as JSON; at most ${maxSchemaBytes} are taken.`;
    throw new ServiceError('invalid_request', { message, param });
  }
  // All of their text counts for the bound, whatever a provider makes of it.
  const size = { ...measured, promptTokensAtMost: measured.promptTokensAtMost + parameters.bytes };
  return {
    chat,
    needs,
    size,
    bindings: { operation: 'chat', model: chat.model, models: chat.models, provider: chat.provider, reasoning },
    chatFor: (route) => fitToRoute(chat, needs, route),
    stripReasoning: parameters.stripReasoning,
    plan(context) {
      const planned = planRequest(chat, needs, context);
      const refusal = planned.ok ? parameters.refusalBy(planned.value.routes) : undefined;
      return refusal ?? planned;
    },
    holdOf: (attempts) => holdOf(attempts, size),
    bounds: (route) => attemptBounds(route, size),
    totalMs: (first) => providers.get(first.providerId)?.entry.timeouts.total_ms ?? 600_000,
    parametersFor: parameters.for,
  };
}

/** Adapters of other APIs parse the arguments of earlier tool calls, which the bound of the body counts as mere texts. */
function refuseHeavyArguments({ messages }: ChatRequest): void {
  const calls = messages.flatMap((message) => (message.role === 'assistant' ? (message.tool_calls ?? []) : []));
  if (areJsonTextsWithinBounds(calls.map(({ function: called }) => called.arguments))) return;
  const message = 'The arguments of the tool calls hold too many JSON values. Leave older calls out.';
  throw new ServiceError('invalid_request', { message, param: 'messages' });
}
