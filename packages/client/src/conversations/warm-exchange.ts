import { parseExact } from '@sotto/dialects';
import {
  asArray,
  asObject,
  asString,
  type JsonObject,
  operationAt,
  parseJson,
  parseModelReference,
  privacyClassSchema,
  providerIdSchema,
} from '@sotto/wire';
import { readText } from '../bounded-body.ts';
import type { Fresh } from '../fresh.ts';
import type { ContentAnswer } from '../gateway/platform.ts';
import type { AskedRequest, Exchange } from '../private/private-exchange.ts';
import { eventsOf, headerOf, isEventStream, onePiece, rewritten } from '../proxy/rewritten-answer.ts';
import { type Conversation, Conversations, type ConversationsOptions, type Served } from './conversations.ts';
import { keptPolicy } from './kept-policy.ts';
import { type RoutingFacts, type RoutingReaderOptions, routingFacts } from './routing-facts.ts';
import { turnsOf } from './turns.ts';

export type WarmExchangeOptions = RoutingReaderOptions & ConversationsOptions;

/**
 * Keeps each conversation with the provider that served its last turn, because that one has it in its cache. The service
 * itself never does: it would have to link requests. Every other request passes as it is.
 */
export class WarmExchange implements Exchange {
  readonly #exchange: Exchange;
  readonly #conversations: Conversations;
  readonly #routing: Fresh<RoutingFacts>;

  constructor(options: WarmExchangeOptions) {
    this.#exchange = options.exchange;
    this.#conversations = new Conversations(options);
    this.#routing = routingFacts(options);
  }

  async ask(asked: AskedRequest): Promise<ContentAnswer> {
    const isChat = asked.method === 'POST' && operationAt(asked.path) === 'chat';
    const body = isChat ? asObject(parseExact(asked.body)) : undefined;
    if (body === undefined) return this.#exchange.ask(asked);
    const conversation = this.#conversations.recognise(turnsOf(body));
    const { cacheSecret } = conversation;
    // A second try is recognised by what the tool sent: the first one may have had another policy.
    const plain = { ...asked, cacheSecret, original: asked.original ?? asked.body };
    const provider = await this.#policyFor(body, conversation.served);
    if (provider === undefined) return this.#watched(asked, conversation, await this.#send(plain, conversation));
    const kept = { ...plain, body: JSON.stringify({ ...body, provider }) };
    const answer = await this.#send(kept, conversation);
    if (answer.status === 200) return this.#watched(asked, conversation, answer);
    const refusal = await readText(answer.body, asked.signal);
    if (!isUnplanned(refusal)) return this.#watched(asked, conversation, rewritten(answer, onePiece(refusal)));
    // No provider was asked. The catalog changed, and the request must not fail by a policy that its user did not write.
    conversation.served = undefined;
    return this.#watched(asked, conversation, await this.#send(plain, conversation));
  }

  async #policyFor(body: JsonObject, served: Served | undefined): Promise<object | undefined> {
    const { id: model, suffix } = parseModelReference(asString(body.model) ?? '');
    if (served === undefined || suffix !== undefined || body.models != null) return undefined;
    // Without them, the request stays as it is.
    const facts = await this.#routing.read().catch(() => undefined);
    const needsTools = (asArray(body.tools)?.length ?? 0) > 0;
    return facts && keptPolicy({ provider: body.provider, needsTools, served, facts, model });
  }

  /** Forgets the provider of a request that was lost, unless its caller left. */
  async #send(asked: AskedRequest, conversation: Conversation): Promise<ContentAnswer> {
    try {
      return await this.#exchange.ask(asked);
    } catch (error) {
      if (!asked.signal.aborted) conversation.served = undefined;
      throw error;
    }
  }

  /** Remembers who serves an answer, until it fails. */
  #watched({ signal }: AskedRequest, conversation: Conversation, answer: ContentAnswer): ContentAnswer {
    if (answer.status !== 200) {
      if (!isOfCaller.has(answer.status)) conversation.served = undefined;
      return answer;
    }
    conversation.served = servedBy(answer);
    // The next turn needs the facts. Control knows the time of a first turn already.
    if (conversation.served !== undefined) void this.#routing.read().catch(() => undefined);
    const forget = (): void => {
      if (!signal.aborted) conversation.served = undefined;
    };
    return isEventStream(answer) ? { ...answer, body: wholeStreamOr(answer.body, forget) } : answer;
  }
}

/** Statuses of refusals that say nothing against a provider. */
const isOfCaller: ReadonlySet<number> = new Set([400, 401, 402, 403, 404, 409, 413, 415, 422]);

/** Refusals of a plan without a route. */
const unplanned = /^(?:no_provider_route(?:_meets_\w+)?|privacy_boundary_not_met|provider_policy_conflict)$/;

const isUnplanned = (text: string): boolean =>
  unplanned.test(asString(asObject(asObject(parseJson(text))?.error)?.type) ?? '');

/** The provider that served an answer. Undefined for `other`, which does not say which one. */
function servedBy(answer: ContentAnswer): Served | undefined {
  const provider = providerIdSchema.safeParse(headerOf(answer, 'x-router-provider')).data;
  const privacyClass = privacyClassSchema.safeParse(headerOf(answer, 'x-router-privacy-class')).data;
  if (provider === undefined || provider === 'other' || privacyClass === undefined) return undefined;
  return { provider, privacyClass };
}

/** Yields the same pieces. Calls `orElse` if the stream breaks off, ends without its last event, or reports an error. */
async function* wholeStreamOr(pieces: AsyncIterable<Uint8Array>, orElse: () => void): AsyncGenerator<Uint8Array> {
  let isWhole = false;
  try {
    for await (const { piece, events } of eventsOf(pieces)) {
      isWhole ||= events.includes('[DONE]');
      // Before it is passed on: the next turn may begin with it.
      if (events.some(isFailure)) orElse();
      yield piece;
    }
  } catch (error) {
    orElse();
    throw error;
  }
  if (!isWhole) orElse();
}

const isFailure = (event: string): boolean =>
  event.includes('"error"') && asObject(parseJson(event))?.error !== undefined;
