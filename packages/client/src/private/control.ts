import type { TicketRequest } from '@sotto/wire';
import * as z from 'zod';
import { ClientError, type ClientErrorCode } from '../errors.ts';
import type { ControlPath } from '../service-paths.ts';

/** The control origin with an inference key. The key is sent nowhere else. */
export interface ControlOptions {
  /** Without a path. */
  readonly origin: string;
  readonly apiKey: string;
  /** The `fetch` that reaches the control origin. */
  readonly fetch: typeof fetch;
}

/** A single-use right to send one request. */
export interface Ticket {
  readonly ticket: string;
  /** The weakest class of the routes that its request could reach. Undefined if the service does not name it. */
  readonly privacyClass: string | undefined;
  /** Unix milliseconds. */
  readonly expiresAt: number;
}

/** A ticket goes into a header, so it must not contain line breaks or spaces. */
const headerText = z.string().regex(/^[\x21-\x7e]{1,8192}$/);

const ticketSchema = z.object({
  ticket: headerText,
  tickets: z.array(headerText).min(1).optional(),
  privacy_class: z.string().optional(),
  expires_at: z.iso.datetime(),
});

export class Control {
  readonly #options: ControlOptions;

  constructor(options: ControlOptions) {
    this.#options = options;
  }

  /**
   * Asks for a ticket. Returns the service's answer unchanged if it refuses. Throws `control_unreachable`, or
   * `inference_ticket_failed` for an answer without a ticket.
   */
  async mint(request: TicketRequest, signal?: AbortSignal): Promise<Ticket | Response> {
    return firstOf(
      await this.#mintAt('/v1/inference/tickets', request, { signal, failure: 'inference_ticket_failed' }),
    );
  }

  /** The same for several tickets, all for the same request. */
  mintSeveral(request: TicketRequest, count: number): Promise<readonly Ticket[] | Response> {
    const failure = 'inference_ticket_failed';
    return this.#mintAt('/v1/inference/tickets', { ...request, count }, { signal: undefined, failure });
  }

  /** The same for the verification of one provider's enclave; it throws `attestation_ticket_failed`. It costs nothing. */
  async mintAttestation(
    request: { readonly model: string; readonly provider: string },
    signal?: AbortSignal,
  ): Promise<Ticket | Response> {
    const failure = 'attestation_ticket_failed';
    return firstOf(await this.#mintAt('/v1/inference/attestation-tickets', request, { signal, failure }));
  }

  /** Reads a resource that needs the key and carries no content, such as `GET /models`. */
  read(path: ControlPath<'GET'> | `${ControlPath<'GET'>}?${string}`, signal?: AbortSignal): Promise<Response> {
    return this.#send(path, { method: 'GET', signal });
  }

  async #mintAt(
    path: ControlPath<'POST'>,
    request: object,
    { signal, failure }: { readonly signal: AbortSignal | undefined; readonly failure: ClientErrorCode },
  ): Promise<readonly [Ticket, ...Ticket[]] | Response> {
    const answer = await this.#send(path, { method: 'POST', body: JSON.stringify(request), signal });
    if (answer.status >= 400) return answer;
    const parsed = ticketSchema.safeParse(await answer.json().catch(() => undefined));
    if (!parsed.success) {
      // The caller may have left while the answer arrived.
      signal?.throwIfAborted();
      throw new ClientError(failure);
    }
    const { ticket, tickets = [ticket], privacy_class: privacyClass, expires_at: expiresAt } = parsed.data;
    const [first, ...others] = tickets.map((each) => ({
      ticket: each,
      privacyClass,
      expiresAt: Date.parse(expiresAt),
    }));
    if (first === undefined) throw new ClientError(failure);
    return [first, ...others];
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
      if (error instanceof ClientError) throw error;
      throw new ClientError('control_unreachable', undefined, { cause: error });
    }
  }
}

const firstOf = (minted: readonly [Ticket, ...Ticket[]] | Response): Ticket | Response =>
  minted instanceof Response ? minted : minted[0];
