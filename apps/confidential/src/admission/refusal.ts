import type { Plan, Route } from '@sotto/router';
import type { RateStatus } from '@sotto/state';
import { ServiceError } from '@sotto/wire';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { rateHeaders, selectionHeaders } from '../answers/router-headers.ts';
import { type Asked, type Credential, type CredentialDependencies, checkRight, credentialOf } from './credential.ts';

/** Facts that a refusal tells beside its error, as far as the broker knew them. */
export interface Known {
  rate?: RateStatus;
  /** The plan, and its route that was tried last or would have been tried first. */
  chosen?: { readonly plan: Plan; readonly route: Route };
}

/** Requests whose answer already has these facts. */
const told = new WeakSet<FastifyRequest>();

/**
 * Completes a refusal before redemption: sets the headers that every inference answer has, and returns the error to
 * send. A bad credential is reported before a wrong body type. A ticket that could not be redeemed is `invalid_ticket`,
 * whatever else is wrong with the request. A valid ticket stays as it was. Does nothing if `tell` or this function was
 * called before.
 */
export async function completeRefusal(
  deps: CredentialDependencies,
  asked: Asked,
  { reply, known, error }: { readonly reply: FastifyReply; readonly known: Known; readonly error: unknown },
): Promise<unknown> {
  if (told.has(asked.request)) return error;
  told.add(asked.request);
  // The error already says what Redis would be asked for.
  if (isOfCredential(error)) return error;
  // If Redis is unavailable, asking it again only takes time.
  if (known.rate === undefined && isRefusal(error)) {
    let credential: Credential;
    try {
      credential = await credentialOf(deps, asked);
    } catch (refused) {
      // Report malformed HTTP, such as two `authorization` headers, as itself.
      return statusOf(error) === 415 && isRefusal(refused) ? refused : error;
    }
    try {
      known.rate = await checkRight(deps, credential);
    } catch (refused) {
      if (isRefusal(refused)) return refused;
    }
  }
  tell(reply, known);
  return error;
}

/**
 * Returns an error handler that completes a route's refusals. It covers refusals that the route's handler never sees,
 * such as a wrong content type.
 */
export const completing = (deps: CredentialDependencies, askedBy: (request: FastifyRequest) => Asked) =>
  async function completeAndThrow(error: unknown, request: FastifyRequest, reply: FastifyReply): Promise<never> {
    // Throw it on to the error handler of all routes.
    throw await completeRefusal(deps, askedBy(request), { reply, known: {}, error });
  };

const isOfCredential = (error: unknown): boolean =>
  error instanceof ServiceError && (error.type === 'invalid_ticket' || error.type === 'invalid_api_key');

/** Whether the request is at fault, as judged by the broker or by Fastify. */
const isRefusal = (error: unknown): boolean => statusOf(error) < 500;

function statusOf(error: unknown): number {
  if (error instanceof ServiceError) return error.status;
  return error instanceof Error && 'statusCode' in error ? Number(error.statusCode) : 500;
}

/** Sets the headers for the facts that are known. */
export function tell(reply: FastifyReply, { rate, chosen }: Known): void {
  told.add(reply.request);
  const headers = [
    ...(rate === undefined ? [] : rateHeaders(rate)),
    ...(chosen === undefined ? [] : selectionHeaders(chosen.plan, chosen.route)),
  ];
  for (let at = 0; at + 1 < headers.length; at += 2) reply.header(headers[at] ?? '', headers[at + 1]);
}
