import type { TicketRequest } from '@sotto/wire';
import * as z from 'zod';
import { ClientError, type ClientErrorCode } from '../errors.ts';

/** The control origin, as the key's owner meets it: the only place that the key is sent to. */
export interface ControlOptions {
  /** Without a path. */
  readonly origin: string;
  readonly apiKey: string;
  /** Speaks to the control origin. */
  readonly fetch: typeof fetch;
}

/** A single-use right to one request. */
export interface Ticket {
  readonly ticket: string;
  /** The weakest class that its request could reach; undefined where the service does not say. */
  readonly privacyClass: string | undefined;
  /** Unix milliseconds. */
  readonly expiresAt: number;
}

const ticketSchema = z.object({
  // It goes into a header, and nothing may come along with it.
  ticket: z.string().regex(/^[\x21-\x7e]{1,8192}$/),
  privacy_class: z.string().optional(),
  expires_at: z.iso.datetime(),
});

export class Control {
  readonly #options: ControlOptions;

  constructor(options: ControlOptions) {
    this.#options = options;
  }

  /**
   * Asks for a ticket. A refusal is the service's own answer, for the caller to see as it is.
   * Throws `control_unreachable`, or `inference_ticket_failed` for an answer that holds no ticket.
   */
  mint(request: TicketRequest, signal?: AbortSignal): Promise<Ticket | Response> {
    return this.#mintAt('/v1/inference/tickets', request, { signal, failure: 'inference_ticket_failed' });
  }

  /** The same for the verification of one provider's enclave, with `attestation_ticket_failed`. It costs nothing. */
  mintAttestation(
    request: { readonly model: string; readonly provider: string },
    signal?: AbortSignal,
  ): Promise<Ticket | Response> {
    return this.#mintAt('/v1/inference/attestation-tickets', request, { signal, failure: 'attestation_ticket_failed' });
  }

  /** `GET /models` and the like: what carries no content, and needs the key. */
  read(path: string, signal?: AbortSignal): Promise<Response> {
    return this.#send(path, { method: 'GET', signal });
  }

  async #mintAt(
    path: string,
    request: object,
    { signal, failure }: { readonly signal: AbortSignal | undefined; readonly failure: ClientErrorCode },
  ): Promise<Ticket | Response> {
    const answer = await this.#send(path, { method: 'POST', body: JSON.stringify(request), signal });
    if (!answer.ok) return answer;
    const parsed = ticketSchema.safeParse(await answer.json().catch(() => undefined));
    if (!parsed.success) throw new ClientError(failure);
    const { ticket, privacy_class: privacyClass, expires_at: expiresAt } = parsed.data;
    return { ticket, privacyClass, expiresAt: Date.parse(expiresAt) };
  }

  async #send(
    path: string,
    {
      method,
      body,
      signal,
    }: { readonly method: string; readonly body?: string; readonly signal: AbortSignal | undefined },
  ): Promise<Response> {
    const { origin, apiKey, fetch: send } = this.#options;
    try {
      return await send(`${origin}${path}`, {
        method,
        headers: {
          authorization: `Bearer ${apiKey}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        redirect: 'error',
        credentials: 'omit',
        referrerPolicy: 'no-referrer',
        ...(body === undefined ? {} : { body }),
        ...(signal === undefined ? {} : { signal }),
      });
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      throw new ClientError('control_unreachable', undefined, { cause: error });
    }
  }
}
