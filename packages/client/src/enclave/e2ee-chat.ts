import type { KeySet } from '@sotto/attestation';
import {
  headerNames,
  operationPaths,
  type ProviderPolicyObject,
  relayRules,
  type SealedQuestion,
  type TicketRequest,
} from '@sotto/wire';
import { answerFrom, answerOfFailure } from '../answer.ts';
import { readBounded } from '../bounded-body.ts';
import { sealChat } from '../e2ee/seal-chat.ts';
import { maxReplyBytes, type SealedRequest } from '../e2ee/sealed-request.ts';
import { readTextChat, type TextChat } from '../e2ee/text-chat.ts';
import { ClientError } from '../errors.ts';
import type { ContentAnswer } from '../gateway/platform.ts';
import type { Control } from '../private/control.ts';
import type { ReadyContent, TicketedSender } from '../private/ticketed-sender.ts';
import { type EnclaveExchange, hashing, sha256Of } from './enclave-exchange.ts';
import {
  type AcceptsRelayAttacks,
  chooseEnclave,
  type EnclaveModels,
  type EnclaveRoute,
  type PinnedFamily,
  readModels,
} from './enclave-route.ts';
import type { EnclaveSessions } from './enclave-sessions.ts';
import { relayedRefusal, replyHeaders } from './relayed-refusal.ts';

export interface E2eeChatParts {
  readonly control: Control;
  readonly sender: TicketedSender;
  readonly enclaves: EnclaveSessions;
  readonly pinnedFamily: PinnedFamily;
  readonly acceptsRelayAttacks: AcceptsRelayAttacks;
  /** The attested key set of the broker. */
  readonly keySet: (signal: AbortSignal) => Promise<KeySet | undefined>;
  /** Called when a reply has arrived whole, before its end is checked. */
  readonly onExchange: (exchange: EnclaveExchange) => void;
  readonly now: () => number;
}

export interface E2eeQuestion {
  /** The body of a chat completion. */
  readonly body: unknown;
  /** The policy that selects the providers. */
  readonly policy: ProviderPolicyObject;
  /** The secret that later retrieves the receipt, if the caller asked for one. */
  readonly receipt: string | undefined;
  /** As in `SealOptions`. */
  readonly cacheSecret: string | undefined;
  /** The body as text. The client recognises a second try by it. */
  readonly asked: string;
  readonly signal: AbortSignal;
}

/** Time in ms that the list of models is cached. */
const listedMs = 5 * 60_000;

/** Chat that is encrypted for the provider's verified enclave. This process seals requests and opens replies. */
export class E2eeChat {
  readonly #parts: E2eeChatParts;
  #models: { readonly list: EnclaveModels; readonly until: number } | undefined;

  constructor(parts: E2eeChatParts) {
    this.#parts = parts;
  }

  /**
   * Takes a request as `fetch` would, and returns the decrypted answer. Refusals of the service are in our own words. Throws `e2ee_request_*` before it asks the service, and the reason if
   * the enclave cannot be trusted.
   */
  async ask({ body, policy, receipt, cacheSecret, asked, signal }: E2eeQuestion): Promise<ContentAnswer> {
    const chat = readTextChat(body);
    const listed = await this.#listed(signal);
    if (listed instanceof Response) return relayedRefusal(answerFrom(listed));
    const { pinnedFamily, acceptsRelayAttacks } = this.#parts;
    const route = chooseEnclave(listed, { model: chat.model, policy, pinnedFamily, acceptsRelayAttacks });
    const key = await this.#parts.enclaves.keyFor(route, signal);
    if (key instanceof Response) return relayedRefusal(answerFrom(key));
    const { maxOutputTokens } = route;
    const sealed = await sealChat(key, body, {
      now: this.#parts.now(),
      ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
      ...(cacheSecret === undefined ? {} : { cacheSecret }),
    });
    try {
      const ticket = ticketOf(chat, route);
      const content = contentOf(sealed, { stream: chat.stream, ticket, receipt });
      // Read before the content is sent: a failure later would look as if nothing had been sent, and be retried.
      const keySet = await this.#parts.keySet(signal);
      const came = await this.#parts.sender.send({ ticket, recurs: true, isSealed: true, asked, content, signal });
      const forget = (): void => this.#parts.enclaves.drop(route);
      const { model, provider } = route;
      const requestSha256 = sha256Of(sealed.body);
      const onArrived = (responseSha256: string): void =>
        this.#parts.onExchange({ model, provider, requestSha256, responseSha256, key, keySet });
      const answer =
        came.status === 200 ? await opened(sealed, chat, { answer: came, onUnopened: forget, onArrived }) : came;
      if (answer.status !== 200) forget();
      return answer;
    } finally {
      sealed.discard();
    }
  }

  async #listed(signal: AbortSignal): Promise<EnclaveModels | Response> {
    const known = this.#models;
    if (known !== undefined && this.#parts.now() < known.until) return known.list;
    const list = await readModels(this.#parts.control, signal);
    if (list instanceof Response) return list;
    this.#models = { list, until: this.#parts.now() + listedMs };
    return list;
  }
}

function ticketOf({ settings }: TextChat, { model, policy }: EnclaveRoute): TicketRequest {
  const { reasoning_effort: effort } = settings;
  return {
    operation: 'chat',
    model,
    provider: policy,
    ...(typeof effort === 'string' ? { reasoning_effort: effort } : {}),
  };
}

function contentOf(
  sealed: SealedRequest,
  asked: { readonly stream: boolean; readonly ticket: TicketRequest; readonly receipt: string | undefined },
): ReadyContent {
  const { stream, receipt } = asked;
  const { model, provider, reasoning_effort } = asked.ticket;
  const { family } = sealed;
  const question: SealedQuestion = {
    family,
    model,
    provider,
    ...(reasoning_effort === undefined ? {} : { reasoning_effort }),
    // Venice always answers with a stream.
    stream: stream || family === 'venice',
  };
  const headers = {
    ...sealed.headers,
    'content-type': relayRules[family].contentType,
    [headerNames.e2ee]: JSON.stringify(question),
    ...(receipt === undefined ? {} : { [headerNames.receipt]: receipt }),
  };
  return { path: operationPaths.chat, headers, body: sealed.body };
}

/**
 * Returns the decrypted answer. The answer has already been bought, so a failure here is returned as an answer and not
 * thrown. A stream that fails later breaks off, and `onUnopened` is called.
 */
async function opened(
  sealed: SealedRequest,
  { stream }: TextChat,
  {
    answer,
    onUnopened,
    onArrived,
  }: {
    readonly answer: ContentAnswer;
    readonly onUnopened: () => void;
    readonly onArrived: (sha256: string) => void;
  },
): Promise<ContentAnswer> {
  const headers = replyHeaders(answer);
  try {
    if (stream) {
      const response = answer.toResponse();
      const { readable, writable } = sealed.openStream(response.headers) as TransformStream<Uint8Array, Uint8Array>;
      const source = response.body ?? new Blob([]).stream();
      source
        .pipeThrough(hashing(onArrived))
        .pipeTo(writable)
        .catch((error: unknown) => {
          if (error instanceof ClientError) onUnopened();
        });
      return answerFrom(new Response(readable, { headers: { ...headers, 'content-type': 'text/event-stream' } }));
    }
    const bytes = await readBounded(answer.body, maxReplyBytes);
    if (bytes === undefined) throw new ClientError('e2ee_reply_too_large');
    onArrived(sha256Of(bytes));
    const json = await sealed.openWhole(new Headers(answer.headers.map(([name, value]) => [name, value])), bytes);
    return answerFrom(new Response(json, { headers: { ...headers, 'content-type': 'application/json' } }));
  } catch (error) {
    const known = error instanceof ClientError ? error : new ClientError('answer_lost', undefined, { cause: error });
    return answerFrom(answerOfFailure(known));
  }
}
