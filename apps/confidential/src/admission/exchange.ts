import type { Plan, Route } from '@sotto/router';
import type { RateStatus } from '@sotto/state';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { AnswerWitness } from '../answers/client-link.ts';
import { rateHeaders, selectionHeaders } from '../answers/router-headers.ts';
import { type Accepts, type Credential, type CredentialDependencies, readCredential } from './credential.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The facts about this request that are known until its hold. */
    exchange: Exchange;
  }
}

/**
 * One request, and what is known of it until its hold. The server makes it before any hook can refuse the request. No
 * module keeps a table of requests beside it.
 */
export class Exchange {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  #credential: Promise<Credential> | undefined;
  /** The state of the rate limits. Undefined until Redis has replied. */
  rate: RateStatus | undefined;
  /** The plan, and its route that was tried last or would have been tried first. */
  chosen: { readonly plan: Plan; readonly route: Route } | undefined;
  /** Whether a refusal needs no further headers: they are set, or it should have none. */
  hasFacts = false;
  /** The secret of the receipt that the client asked for. */
  receiptSecret: string | undefined;
  /** Sees the answer, once a receipt is written. */
  witness: AnswerWitness | undefined;
  /** The ID of the running attempt, by which the client can ask for the provider's own receipt. */
  providerRequestId: string | undefined;
  /** Lets go of the memory of the body. Called as soon as nothing refers to the content any more. */
  freeMemory: () => void = () => {};

  constructor(request: FastifyRequest, reply: FastifyReply) {
    this.request = request;
    this.reply = reply;
  }

  /** Reads the credential, once: to read it again would open the ticket a second time. Throws as `readCredential` does. */
  credential(deps: CredentialDependencies, accepts: Accepts): Promise<Credential> {
    this.#credential ??= readCredential(deps, this.request, accepts);
    return this.#credential;
  }

  /** Sets the headers of `rate` and `chosen`, as far as they are known. */
  setFactHeaders(): void {
    this.hasFacts = true;
    const { rate, chosen, reply } = this;
    const headers = [
      ...(rate === undefined ? [] : rateHeaders(rate)),
      ...(chosen === undefined ? [] : selectionHeaders(chosen.plan, chosen.route)),
    ];
    for (let at = 0; at + 1 < headers.length; at += 2) reply.header(headers[at] ?? '', headers[at + 1]);
  }
}
