import { headerNames, ServiceError, type TicketRequest } from '@sotto/wire';
import { answerFrom, withoutNoRetry } from '../answer.ts';
import { ClientError } from '../errors.ts';
import type { GatewaySession } from '../gateway/gateway-session.ts';
import type { ContentAnswer } from '../gateway/platform.ts';
import { answerOfFailure } from '../local-answer.ts';
import type { SentRequests } from './sent-requests.ts';
import type { TakenTicket, TicketPool } from './ticket-pool.ts';

/** Content that is ready to leave. */
export interface ReadyContent {
  /** With its leading `/v1`. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array<ArrayBuffer>;
}

export interface TicketedRequest {
  /** What the ticket binds. */
  readonly ticket: TicketRequest;
  /** Whether requests like this one are likely to come again, so that tickets for them are worth keeping. */
  readonly recurs: boolean;
  /** Whether only the provider's enclave can read the content. */
  readonly isSealed: boolean;
  /** The body as its caller gave it: what a second try is recognised by. */
  readonly asked: string;
  readonly content: ReadyContent;
  readonly signal: AbortSignal;
}

export interface TicketedSenderParts {
  readonly session: GatewaySession;
  readonly tickets: TicketPool;
  readonly sent: SentRequests;
}

/**
 * Sends content with a ticket, once. A refusal of the control origin is the answer. Throws `ClientError`s, and the signal's
 * reason: then nothing of the content has left, or its caller has given up. What may have been sent and lost is answered.
 */
export class TicketedSender {
  readonly #parts: TicketedSenderParts;

  constructor(parts: TicketedSenderParts) {
    this.#parts = parts;
  }

  async send(request: TicketedRequest): Promise<ContentAnswer> {
    const { tickets, session } = this.#parts;
    const { ticket: bound, recurs, isSealed, signal } = request;
    // Both at once; nothing of the content moves before both are there.
    const [ticket] = await Promise.all([
      recurs ? tickets.take(bound, signal) : tickets.fresh(bound, signal),
      session.verified(signal),
    ]);
    if (ticket instanceof Response) return answerFrom(ticket);
    if (ticket.privacyClass === 'e2ee' && !isSealed)
      throw new ServiceError('no_provider_route_meets_privacy', { message: inClear });
    const answer = await this.#sendOnce(request, ticket);
    if (ticket.isFresh || answer.status !== 401) return answer;
    const refused = answer.toResponse();
    if (!(await isRefusedTicket(refused.clone()))) return answerFrom(refused);
    // A ticket that was kept may have died meanwhile: its key's limits or preferences changed. The broker says so before it
    // redeems anything or asks a provider, so nothing was bought, and this answer comes from the broker that was verified.
    tickets.drop(bound);
    await refused.body?.cancel();
    const fresh = await tickets.fresh(bound, signal);
    return fresh instanceof Response ? answerFrom(fresh) : this.#sendOnce(request, fresh);
  }

  async #sendOnce({ asked, content, signal }: TicketedRequest, { ticket }: TakenTicket): Promise<ContentAnswer> {
    const { path, headers, body } = content;
    const withTicket = { ...headers, [headerNames.ticket]: ticket };
    try {
      const answer = await this.#parts.session.send({ path, method: 'POST', headers: withTicket, body, signal });
      if (answer.status === 429) return answerFrom(withoutNoRetry(answer.toResponse()));
      // Some SDKs count a body that breaks off, or comes too slowly, as a failed try.
      return { ...answer, body: wholeOr(answer.body, () => this.#parts.sent.remember(asked)) };
    } catch (error) {
      if (error instanceof ClientError) throw error;
      await this.#parts.sent.remember(asked);
      if (signal.aborted) throw signal.reason;
      return answerFrom(answerOfFailure(new ClientError('answer_lost', undefined, { cause: error })));
    }
  }
}

const inClear =
  'Every provider that this request may use takes encrypted requests only, and this one is in clear: ask for ' +
  '`minimum_privacy: "e2ee"` in `provider`. It was not sent.';

/** The same pieces; `orElse` is called where they are not read to their end. */
async function* wholeOr(pieces: AsyncIterable<Uint8Array>, orElse: () => Promise<void>): AsyncIterable<Uint8Array> {
  let isWhole = false;
  try {
    yield* pieces;
    isWhole = true;
  } finally {
    if (!isWhole) await orElse();
  }
}

async function isRefusedTicket(answer: Response): Promise<boolean> {
  const body: unknown = await answer.json().catch(() => undefined);
  const { error } = (body ?? {}) as { readonly error?: { readonly type?: unknown } };
  return error?.type === 'invalid_ticket';
}
