import {
  headerNames,
  type Operation,
  operationAt,
  operationPaths,
  parseJson,
  ServiceError,
  sentStatus,
} from '@sotto/wire';
import { answerFrom, answerOfFailure, answerOfRefusal, failureInsteadOf, isFinal } from '../answer.ts';
import { readText } from '../bounded-body.ts';
import type { E2eeChat } from '../enclave/e2ee-chat.ts';
import { ClientError } from '../errors.ts';
import type { ContentAnswer } from '../gateway/platform.ts';
import type { Control } from './control.ts';
import { asksForE2ee, e2eePolicy, parseBody, readQuestion } from './question.ts';
import type { SentRequests } from './sent-requests.ts';
import type { TicketedSender } from './ticketed-sender.ts';

export interface PrivateExchangeParts {
  readonly control: Control;
  readonly sender: TicketedSender;
  readonly e2ee: E2eeChat;
  readonly sent: SentRequests;
  /** Whether to encrypt every request end to end, and to refuse those that cannot be encrypted. */
  readonly e2eeOnly: boolean;
}

/** Carries requests of tools out. */
export interface Exchange {
  ask(asked: AskedRequest): Promise<ContentAnswer>;
}

/** A request as an OpenAI client writes it. */
export interface AskedRequest {
  readonly method: string;
  /** With its leading `/v1`, and its query. */
  readonly path: string;
  /** Returns one of its headers, by its name in lower case. */
  readonly header: (name: string) => string | undefined;
  readonly body: string;
  /** The body as the tool sent it, if it was changed on this machine. A second try is recognised by it. */
  readonly original?: string;
  /** Separates this conversation's caches in an enclave, as `SealOptions` says. */
  readonly cacheSecret?: string;
  readonly signal: AbortSignal;
}

/** The answer to a request for the list of models. */
export interface ModelsAnswer extends Pick<ContentAnswer, 'status' | 'headers'> {
  readonly text: string;
  /** Undefined if the answer has none. */
  readonly list: unknown;
}

export async function askForModels(exchange: Exchange): Promise<ModelsAnswer> {
  const { signal } = new AbortController();
  const asked = { method: 'GET', path: '/v1/models', header: () => undefined, body: '', signal };
  const { status, headers, body } = await exchange.ask(asked);
  const text = await readText(body);
  return { status, headers, text, list: status === 200 ? parseJson(text) : undefined };
}

/**
 * Carries requests out privately. It gets a ticket from the control origin, then sends the content to the verified
 * confidential origin. It encrypts the content for the provider's enclave if the request asks for that. Refusals of
 * either origin are returned unchanged.
 *
 * Throws `ClientError`s if none of the content has left, and the signal's reason if the caller has given up.
 */
export class PrivateExchange implements Exchange {
  readonly #parts: PrivateExchangeParts;

  constructor(parts: PrivateExchangeParts) {
    this.#parts = parts;
  }

  async ask(asked: AskedRequest): Promise<ContentAnswer> {
    const { method, path, signal } = asked;
    signal.throwIfAborted();
    try {
      const operation = method === 'POST' ? operationAt(path) : undefined;
      if (operation !== undefined) return await this.#askWithContent(asked, operation);
      if (method === 'GET' && listsModels(path)) {
        return answerFrom(await this.#parts.control.read(path, signal));
      }
      throw new ServiceError('not_found', { message: offered });
    } catch (error) {
      if (error instanceof ServiceError) return answerFrom(answerOfRefusal(error));
      // The request stays wrong, and an SDK would retry a thrown error, so return an answer.
      if (error instanceof ClientError && isFinal(error.code)) {
        return answerFrom(answerOfFailure(error));
      }
      throw error;
    }
  }

  async #askWithContent(request: AskedRequest, operation: Operation): Promise<ContentAnswer> {
    const { sender, e2ee, sent, e2eeOnly } = this.#parts;
    const { header, body: text, original: asked = text, cacheSecret, signal } = request;
    // An SDK retries a request that was sent and then given up. It may have been charged.
    if (Number(header('x-stainless-retry-count') ?? 0) > 0 && (await sent.has(asked))) {
      return answerFrom(answerOfFailure(new ClientError('retry_refused')));
    }
    const body = parseBody(text);
    const { ticket, recurs } = readQuestion(operation, body);
    if (e2eeOnly || asksForE2ee(ticket)) {
      if (operation !== 'chat') throw new ClientError('e2ee_request_unsupported');
      const receipt = header(headerNames.receipt);
      const policy = e2eePolicy(ticket.provider);
      return this.#watched(asked, await e2ee.ask({ body, policy, receipt, cacheSecret, asked, signal }));
    }
    const content = { path: operationPaths[operation], headers: passedOn(header), body: text };
    const answer = await sender.send({ ticket, recurs, isSealed: false, asked, content, signal });
    // A tool that follows a redirect would send the content to an address that the broker chose.
    const isRedirect = answer.status >= 300 && answer.status < 400;
    return this.#watched(asked, isRedirect ? failureInsteadOf(answer, 'answer_redirected') : answer);
  }

  /** Some SDKs retry if a body breaks off or arrives too slowly. Refusals are not charged, so they may be retried. */
  async #watched(asked: string, answer: ContentAnswer): Promise<ContentAnswer> {
    // An encrypted answer that was lost while it was read whole.
    if (answer.status === sentStatus) await this.#parts.sent.remember(asked);
    if (answer.status !== 200) return answer;
    return { ...answer, body: wholeOr(answer.body, () => this.#parts.sent.remember(asked)) };
  }
}

/** Yields the same pieces. Calls `orElse` if they are not read to the end. */
async function* wholeOr(pieces: AsyncIterable<Uint8Array>, orElse: () => Promise<void>): AsyncIterable<Uint8Array> {
  let isWhole = false;
  try {
    yield* pieces;
    isWhole = true;
  } finally {
    if (!isWhole) await orElse();
  }
}

const listsModels = (path: string): path is '/v1/models' | `/v1/models?${string}` => /^\/v1\/models(?:\?|$)/.test(path);

const offered =
  'The private flow offers POST /v1/chat/completions, /v1/embeddings, /v1/images/generations and /v1/audio/speech, and ' +
  'GET /v1/models, at the confidential origin that it was made for.';

/** Keeps the SDK headers that describe the request, and drops those that could identify the sender. */
function passedOn(header: AskedRequest['header']): Record<string, string> {
  const headers: Record<string, string> = { 'content-type': 'application/json' };
  for (const name of ['accept', headerNames.receipt]) {
    const value = header(name);
    if (value !== undefined) headers[name] = value;
  }
  return headers;
}
