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
import { areJsonTextsWithinBounds } from '@sotto/server';
import { type ChatRequest, chatRequestSchema, parseRequest, reasoningSelection, ServiceError } from '@sotto/wire';
import type { AdmissionQuestion } from '../admission/admit.ts';
import type { ProviderSet } from '../providers/provider-set.ts';
import { readParameters } from './provider-parameters.ts';

export interface ChatQuestion extends AdmissionQuestion {
  readonly chat: ChatRequest;
  readonly stripReasoning: boolean;
  /** Returns the body for a route, without the parts that its provider would reject. */
  chatFor(route: Route): ChatRequest;
  /** Returns the caller's own parameters for a provider, by its public ID. The broker's own parameters are left out. */
  parametersFor(publicProviderId: string): Record<string, unknown>;
}

/** Reads the body of `POST /chat/completions` for admission and the attempts. Throws if it is invalid. */
export function readChatQuestion(body: object, providers: ProviderSet): ChatQuestion {
  let chat: ChatRequest = parseRequest(chatRequestSchema, body);
  const reasoning = reasoningSelection(chat);
  const ceiling = requestedCeiling(chat);
  refuseHeavyArguments(chat);
  const parameters = readParameters(body, providers);
  const { needs, size: measured, oversized } = measureChat(chat, ceiling);
  if (oversized !== undefined) {
    const { param, bytes } = oversized;
    const message = `\`${param}\` is ${bytes} bytes long as JSON; at most ${maxSchemaBytes} are taken.`;
    throw new ServiceError('invalid_request', { message, param });
  }
  // All text of the parameters counts towards the bound, whatever a provider makes of it.
  const size = { ...measured, promptTokensAtMost: measured.promptTokensAtMost + parameters.bytes };
  const bounds = (route: Route) => attemptBounds(route, size);
  return {
    get chat() {
      return chat;
    },
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
    holdOf: (attempts) => holdOf(attempts, size, bounds),
    bounds,
    parametersFor: parameters.for,
    forget() {
      const { model, stream, stream_options } = chat;
      chat = { model, stream, stream_options, messages: [] };
      parameters.forget();
    },
  };
}

/** Returns the most output tokens that a request allows, if it says. Throws if its two settings differ. */
export function requestedCeiling(chat: ChatRequest): number | undefined {
  const ceiling = requestedOutputTokens(chat);
  if (ceiling !== 'conflict') return ceiling;
  throw new ServiceError('invalid_request', {
    message: '`max_tokens` and `max_completion_tokens` are the same setting and differ. Send one of them.',
    param: 'max_tokens',
  });
}

/**
 * Adapters of other APIs parse the arguments of earlier tool calls. The bound on the body counts these as single texts,
 * so the values inside are counted here.
 */
function refuseHeavyArguments({ messages }: ChatRequest): void {
  const calls = messages.flatMap((message) => (message.role === 'assistant' ? (message.tool_calls ?? []) : []));
  if (areJsonTextsWithinBounds(calls.map(({ function: called }) => called.arguments))) return;
  const message = 'The arguments of the tool calls hold too many JSON values. Leave older calls out.';
  throw new ServiceError('invalid_request', { message, param: 'messages' });
}
