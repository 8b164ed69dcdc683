import { forbiddenKind, ServiceError } from '@sotto/wire';
import type { FastifyRequest } from 'fastify';
import { type Accepts, type Credential, type CredentialDependencies, checkRight, rightOf } from './credential.ts';
import type { Exchange } from './exchange.ts';

/**
 * Completes a refusal before redemption: sets the headers that every inference answer has, and returns the error to
 * send. A bad credential is reported before a wrong body type. A ticket that could not be redeemed is `invalid_ticket`,
 * whatever else is wrong with the request. A valid ticket stays as it was. Does nothing if the headers are set already or not wanted.
 */
export async function completeRefusal(
  deps: CredentialDependencies,
  exchange: Exchange,
  { accepts, error }: { readonly accepts: Accepts; readonly error: unknown },
): Promise<unknown> {
  if (exchange.hasFacts) return error;
  exchange.hasFacts = true;
  // The error already says what Redis would be asked for.
  if (isOfCredential(error)) return error;
  // If Redis is unavailable, asking it again only takes time.
  if (exchange.rate === undefined && isRefusal(error)) {
    let credential: Credential;
    try {
      credential = await exchange.credential(deps, accepts);
    } catch (refused) {
      // Report malformed HTTP, such as two `authorization` headers, as itself.
      return statusOf(error) === 415 && isRefusal(refused) ? refused : error;
    }
    try {
      exchange.rate = await checkRight(deps, credential);
      count(deps, credential, error);
    } catch (refused) {
      if (isRefusal(refused)) return refused;
    }
  }
  exchange.setFactHeaders();
  return error;
}

/** Counts a 403 about the rights of a key. Nothing waits for the count, and one that fails is lost. */
function count({ state }: CredentialDependencies, credential: Credential, error: unknown): void {
  const kind = forbiddenKind(error);
  if (kind !== undefined) state.countRefusal({ ...rightOf(credential), kind }).catch(() => {});
}

/**
 * Returns an error handler that completes a route's refusals. It covers refusals that the route's handler never sees,
 * such as a wrong content type.
 */
export const completing = (deps: CredentialDependencies, acceptedBy: (request: FastifyRequest) => Accepts) =>
  async function completeAndThrow(error: unknown, request: FastifyRequest): Promise<never> {
    // Throw it on to the error handler of all routes.
    throw await completeRefusal(deps, request.exchange, { accepts: acceptedBy(request), error });
  };

const isOfCredential = (error: unknown): boolean =>
  error instanceof ServiceError && (error.type === 'invalid_ticket' || error.type === 'invalid_api_key');

/** Whether the request is at fault, as judged by the broker or by Fastify. */
const isRefusal = (error: unknown): boolean => statusOf(error) < 500;

function statusOf(error: unknown): number {
  if (error instanceof ServiceError) return error.status;
  return error instanceof Error && 'statusCode' in error ? Number(error.statusCode) : 500;
}
