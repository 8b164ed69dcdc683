import { headerNames, type Operation, ServiceError } from '@sotto/wire';
import { answerFrom } from '../answer.ts';
import { ClientError } from '../errors.ts';
import type { GatewaySession } from '../gateway/gateway-session.ts';
import type { ContentAnswer } from '../gateway/platform.ts';
import { answerOfFailure, answerOfRefusal } from '../local-answer.ts';
import type { Control } from './control.ts';
import { operationAt, readQuestion } from './question.ts';
import type { SentRequests } from './sent-requests.ts';
import type { TakenTicket, TicketPool } from './ticket-pool.ts';

export interface PrivateExchangeParts {
  readonly session: GatewaySession;
  readonly control: Control;
  readonly tickets: TicketPool;
  readonly sent: SentRequests;
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

type ContentQuestion = AskedRequest & { readonly operation: Operation };

/**
 * Carries requests out privately: a ticket from the control origin, then the content to the verified confidential origin.
 * Refusals of either are answers as they came. Throws `ClientError`s, and the signal's reason: then nothing of the content
 * has left, or its caller has given up. What may have been sent and lost is answered, with `x-should-retry: false`.
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
      if (operation !== undefined) return await this.#askWithContent({ ...asked, operation });
      if (method === 'GET' && /^\/v1\/models(?:\?|$)/.test(path)) {
        return answerFrom(await this.#parts.control.read(path, signal));
      }
      throw new ServiceError('not_found', { message: offered });
    } catch (error) {
      if (error instanceof ServiceError) return answerFrom(answerOfRefusal(error));
      throw error;
    }
  }

  async #askWithContent(asked: ContentQuestion): Promise<ContentAnswer> {
    const { tickets, session } = this.#parts;
    if (await this.#isRepeated(asked)) return answerFrom(answerOfFailure(new ClientError('retry_refused')));
    const question = readQuestion(asked.operation, parsed(asked.body));
    // Both at once; nothing of the content moves before both are there.
    const [ticket] = await Promise.all([
      question.recurs ? tickets.take(question.ticket, asked.signal) : tickets.fresh(question.ticket, asked.signal),
      session.verified(asked.signal),
    ]);
    if (ticket instanceof Response) return answerFrom(ticket);
    const answer = await this.#send(asked, ticket);
    if (ticket.isFresh || answer.status !== 401) return answer;
    const refused = answer.toResponse();
    if (!(await isRefusedTicket(refused.clone()))) return answerFrom(refused);
    // A ticket that was kept may have died meanwhile: its key's limits or preferences changed. The broker says so before it
    // redeems anything or asks a provider, so nothing was bought, and this answer comes from the broker that was verified.
    tickets.drop(question.ticket);
    await refused.body?.cancel();
    const fresh = await tickets.fresh(question.ticket, asked.signal);
    return fresh instanceof Response ? answerFrom(fresh) : this.#send(asked, fresh);
  }

  /** Whether this is an SDK's own second try of what was given up after it was sent. */
  async #isRepeated({ header, body }: ContentQuestion): Promise<boolean> {
    return Number(header('x-stainless-retry-count') ?? 0) > 0 && (await this.#parts.sent.has(body));
  }

  async #send({ path, header, body, signal }: ContentQuestion, { ticket }: TakenTicket): Promise<ContentAnswer> {
    const headers = { ...passedOn(header), [headerNames.ticket]: ticket };
    try {
      return await this.#parts.session.send({ path, method: 'POST', headers, body, signal });
    } catch (error) {
      if (error instanceof ClientError) throw error;
      await this.#parts.sent.remember(body);
      if (signal.aborted) throw signal.reason;
      return answerFrom(answerOfFailure(new ClientError('answer_lost', undefined, { cause: error })));
    }
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

async function isRefusedTicket(answer: Response): Promise<boolean> {
  const body: unknown = await answer.json().catch(() => undefined);
  const { error } = (body ?? {}) as { readonly error?: { readonly type?: unknown } };
  return error?.type === 'invalid_ticket';
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
