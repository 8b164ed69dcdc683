import { headerNames, type Operation, ServiceError } from '@sotto/wire';
import { answerFrom } from '../answer.ts';
import type { E2eeChat } from '../enclave/e2ee-chat.ts';
import { ClientError } from '../errors.ts';
import type { ContentAnswer } from '../gateway/platform.ts';
import { answerOfFailure, answerOfRefusal } from '../local-answer.ts';
import type { Control } from './control.ts';
import { asksForE2ee, e2eePolicy, operationAt, readQuestion } from './question.ts';
import type { SentRequests } from './sent-requests.ts';
import type { TicketedSender } from './ticketed-sender.ts';

export interface PrivateExchangeParts {
  readonly control: Control;
  readonly sender: TicketedSender;
  readonly e2ee: E2eeChat;
  readonly sent: SentRequests;
  /** Whether everything is encrypted end to end, and what cannot be is refused. */
  readonly e2eeOnly: boolean;
}

/** A request as some OpenAI client makes it. */
export interface AskedRequest {
  readonly method: string;
  /** With its leading `/v1`, and its query. */
  readonly path: string;
  /** Reads one of its headers, by its name in lower case. */
  readonly header: (name: string) => string | undefined;
  readonly body: string;
  readonly signal: AbortSignal;
}

/**
 * Carries requests out privately: a ticket from the control origin, then the content to the verified confidential origin,
 * encrypted for the provider's enclave where the request asks for that. Refusals of either origin are answers as they
 * came. Throws `ClientError`s, and the signal's reason: then nothing of the content has left, or its caller has given up.
 */
export class PrivateExchange {
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
      if (method === 'GET' && /^\/v1\/models(?:\?|$)/.test(path)) {
        return answerFrom(await this.#parts.control.read(path, signal));
      }
      throw new ServiceError('not_found', { message: offered });
    } catch (error) {
      if (error instanceof ServiceError) return answerFrom(answerOfRefusal(error));
      // What is wrong with the request stays wrong, and an SDK would try what is thrown again.
      if (error instanceof ClientError && error.code.startsWith('e2ee_request_')) {
        return answerFrom(answerOfFailure(error));
      }
      throw error;
    }
  }

  async #askWithContent(
    { path, header, body: asked, signal }: AskedRequest,
    operation: Operation,
  ): Promise<ContentAnswer> {
    const { sender, e2ee, sent, e2eeOnly } = this.#parts;
    // An SDK's own second try of what was given up after it was sent.
    if (Number(header('x-stainless-retry-count') ?? 0) > 0 && (await sent.has(asked))) {
      return answerFrom(answerOfFailure(new ClientError('retry_refused')));
    }
    const body = parsed(asked);
    const { ticket, recurs } = readQuestion(operation, body);
    if (e2eeOnly || asksForE2ee(ticket)) {
      if (operation !== 'chat') throw new ClientError('e2ee_request_unsupported');
      return e2ee.ask({ body, policy: e2eePolicy(ticket.provider), asked, signal });
    }
    const content = () => ({ path, headers: passedOn(header), body: asked });
    return sender.send({ ticket, recurs, asked, content, signal });
  }
}

const offered =
  'The private flow offers POST /v1/chat/completions, /v1/embeddings, /v1/images/generations and /v1/audio/speech, and ' +
  'GET /v1/models, at the confidential origin that it was made for.';

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    throw new ServiceError('invalid_request', { message: 'The body is not valid JSON.' });
  }
}

/** Of an SDK's headers those that say something of the request, and none that could say who makes it. */
function passedOn(header: AskedRequest['header']): Record<string, string> {
  const headers: Record<string, string> = { 'content-type': 'application/json' };
  for (const name of ['accept', headerNames.receipt]) {
    const value = header(name);
    if (value !== undefined) headers[name] = value;
  }
  return headers;
}
