import { asObject, headerNames, parseJson, ServiceError, type TicketRequest } from '@sotto/wire';
import { answerFrom, answerOfFailure, withoutNoRetry } from '../answer.ts';
import { readText } from '../bounded-body.ts';
import { relayedRefusal } from '../enclave/relayed-refusal.ts';
import { ClientError } from '../errors.ts';
import type { GatewaySession } from '../gateway/gateway-session.ts';
import type { ContentAnswer } from '../gateway/platform.ts';
import type { ConfidentialPath } from '../service-paths.ts';
import type { SentRequests } from './sent-requests.ts';
import type { TakenTicket, TicketPool } from './ticket-pool.ts';

/** Content that is ready to be sent. */
export interface ReadyContent {
  /** With its leading `/v1`. */
  readonly path: ConfidentialPath<'POST'>;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array<ArrayBuffer>;
}

export interface TicketedRequest {
  /** The fields that the ticket binds. */
  readonly ticket: TicketRequest;
  /** Whether similar requests are likely, so that tickets for them are worth keeping. */
  readonly recurs: boolean;
  /** Whether only the provider's enclave can read the content. */
  readonly isSealed: boolean;
  /** The body as the caller gave it. The client recognises a second try by it. */
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
 * Sends content with a ticket, once. Returns the refusal of the control origin if there is one. The broker's answer to
 * sealed content is returned unchanged only with status 200, because nothing vouches for another one. Returns an answer if
 * content may have been sent and lost. Throws `ClientError`s if none of the content has left, and the signal's reason
 * if the caller has given up.
 */
export class TicketedSender {
  readonly #parts: TicketedSenderParts;

  constructor(parts: TicketedSenderParts) {
    this.#parts = parts;
  }

  async send(request: TicketedRequest): Promise<ContentAnswer> {
    const { tickets, session } = this.#parts;
    const { ticket: bound, recurs, isSealed, signal } = request;
    // Get both in parallel. No content moves before both are ready.
    const [ticket] = await Promise.all([
      recurs ? tickets.take(bound, signal) : tickets.fresh(bound, signal),
      session.verified(signal),
    ]);
    if (ticket instanceof Response) return refusalOf(ticket, isSealed);
    if (ticket.privacyClass === 'e2ee' && !isSealed)
      throw new ServiceError('no_provider_route_meets_privacy', { message: inClear });
    const answer = await this.#sendOnce(request, ticket);
    if (ticket.isFresh || answer.status !== 401) return answer;
    const text = await readText(answer.body, signal).catch(() => undefined);
    signal.throwIfAborted();
    if (text === undefined) return answerFrom(answerOfFailure(new ClientError('answer_lost')));
    const { status, headers } = answer;
    if (!isRefusedTicket(text))
      return answerFrom(new Response(text, { status, headers: headers.map(([...pair]) => pair) }));
    // A kept ticket may have become invalid: its key's limits or preferences changed. The broker refuses it before it
    // redeems the ticket or asks a provider, so nothing was bought. A broker that lies about it gets the same content twice.
    tickets.drop(bound);
    const fresh = await tickets.fresh(bound, signal);
    return fresh instanceof Response ? refusalOf(fresh, isSealed) : this.#sendOnce(request, fresh);
  }

  async #sendOnce(
    { asked, content, isSealed, signal }: TicketedRequest,
    { ticket }: TakenTicket,
  ): Promise<ContentAnswer> {
    const { path, headers, body } = content;
    const withTicket = { ...headers, [headerNames.ticket]: ticket };
    try {
      const sent = await this.#parts.session.send({ path, headers: withTicket, body, signal });
      const answer = isSealed && sent.status !== 200 ? await relayedRefusal(sent) : sent;
      return answer.status === 429 ? answerFrom(withoutNoRetry(answer.toResponse())) : answer;
    } catch (error) {
      if (error instanceof ClientError) throw error;
      await this.#parts.sent.remember(asked);
      if (signal.aborted) throw signal.reason;
      return answerFrom(answerOfFailure(new ClientError('answer_lost', undefined, { cause: error })));
    }
  }
}

/** A refusal of the control origin. On the sealed path all refusals are in our own words. */
const refusalOf = async (refused: Response, isSealed: boolean): Promise<ContentAnswer> =>
  isSealed ? relayedRefusal(answerFrom(refused)) : answerFrom(refused);

const inClear =
  'Every provider that this request may use takes encrypted requests only, and this one is in clear: ask for ' +
  '`minimum_privacy: "e2ee"` in `provider`. It was not sent.';

const isRefusedTicket = (text: string): boolean =>
  asObject(asObject(parseJson(text))?.error)?.type === 'invalid_ticket';
