import { parameterPaths, refusedParameter } from '@sotto/providers';
import {
  attemptBounds,
  fitToRoute,
  holdOf,
  matchesProvider,
  maxSchemaBytes,
  measureChat,
  otherProviderId,
  planRequest,
  type Route,
  refuse,
  requestedOutputTokens,
} from '@sotto/router';
import { areJsonTextsWithinBounds } from '@sotto/server';
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
    holdOf: (attempts) => holdOf(attempts, size),
    bounds: (route) => attemptBounds(route, size),
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

/**
 * A top-level or nested `seed` with more digits than a number keeps. A JSON string cannot match, because its quotes are
 * escaped.
 */
const longSeed = /"seed"\s*:\s*(-?\d{16,19})(?=\s*[,}])/g;

/**
 * Restores the digits of a `seed` beyond 53 bits, which parsing has rounded: OpenAI's seeds have 64 bits. Only such a
 * body is searched, because a parser that keeps the text of every number takes 20 times as long. A body with two such
 * seeds that round to the same number is left for the schema to reject.
 */
export function withExactSeed(body: object, bytes: Buffer): object {
  const { seed } = body as { readonly seed?: unknown };
  if (!Number.isInteger(seed) || Number.isSafeInteger(seed)) return body;
  const found = new Set<string>();
  for (const [, digits = ''] of bytes.toString('utf8').matchAll(longSeed)) {
    if (Number(digits) === seed) found.add(digits);
  }
  const [digits, ...others] = found;
  return digits === undefined || others.length > 0 ? body : { ...body, seed: BigInt(digits) };
}

type Parameters = Readonly<Record<string, unknown>>;

/** The `<provider id>_parameters` of one chat body. */
interface ProviderParameters {
  /** Size in UTF-8 bytes, as JSON, of the parameters for providers of the registry. */
  readonly bytes: number;
  readonly stripReasoning: boolean;
  /** Returns the parameters for a provider, by its public ID. */
  for(publicProviderId: string): Parameters;
  /**
   * Returns the refusal if a provider of one of these routes does not accept its parameters; undefined if all do.
   * Parameters for providers that cannot serve the request are not checked.
   */
  refusalBy(routes: readonly Route[]): ReturnType<typeof refuse> | undefined;
  /** Drops all of them. */
  forget(): void;
}

/** Reads the provider parameters of a raw body. Throws if their form is wrong. */
function readParameters(body: object, providers: ProviderSet): ProviderParameters {
  const read = providerParameters(body);
  if (!read.ok) throw new ServiceError('invalid_request', read);
  refuseUnclearStrip(read.byProvider);
  const named = [...read.byProvider]
    .filter(([name]) => providers.publicIds.some((id) => matchesProvider(name, id)))
    .map(([name, { strip_thinking_response: strip, ...own }]) => ({ name, own, strip: strip === true }));
  // Longer names come last and win, because a name with a region is more specific than the provider's name alone.
  named.sort((one, other) => one.name.length - other.name.length);
  const matching = (publicProviderId: string) => named.filter(({ name }) => matchesProvider(name, publicProviderId));
  return {
    bytes: named.reduce((sum, { own }) => sum + Buffer.byteLength(JSON.stringify(own)), 0),
    stripReasoning: named.some(({ strip }) => strip),
    for: (publicProviderId) => Object.fromEntries(matching(publicProviderId).flatMap(({ own }) => Object.entries(own))),
    refusalBy(routes) {
      if (named.length === 0) return undefined;
      for (const { providerId, publicProviderId } of routes) {
        const provider = providers.get(providerId);
        if (provider === undefined) continue;
        // An unlisted provider takes no parameters: the error would tell which API it speaks.
        const taken = publicProviderId === otherProviderId ? {} : provider.adapter.callerParameters;
        for (const { name, own } of matching(publicProviderId)) {
          const refused = refusedParameter(own, taken);
          if (refused === undefined) continue;
          const param = [`${name}_parameters`, ...refused.map((step) => step.slice(0, 64))].join('.');
          return refuse('invalid_request', `\`${param}\` is not taken. ${takenWords(parameterPaths(taken))}`, param);
        }
      }
      return undefined;
    },
    forget() {
      named.length = 0;
    },
  };
}

const takenWords = (known: readonly string[]): string =>
  known.length === 0
    ? 'Leave it out.'
    : `This provider takes ${known.map((path) => `\`${path}\``).join(', ')} and \`strip_thinking_response\`.`;

/**
 * Any other value would show a reasoning trace that the caller meant to hide. Names of unknown providers are checked,
 * too, so that the answer does not tell which ones exist.
 */
function refuseUnclearStrip(byProvider: ReadonlyMap<string, Parameters>): void {
  for (const [providerId, { strip_thinking_response: strip }] of byProvider) {
    if (strip != null && typeof strip !== 'boolean') {
      const param = `${providerId.slice(0, 64)}_parameters.strip_thinking_response`;
      throw new ServiceError('invalid_request', { message: '`strip_thinking_response` must be a boolean.', param });
    }
  }
}
