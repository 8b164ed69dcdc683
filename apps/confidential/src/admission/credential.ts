import { bearerToken, mayBeLarge } from '@sotto/http';
import {
  type AdmissionPort,
  apiKeyKind,
  hashSecret,
  type Keys,
  type OpenedTicket,
  openTicket,
  type RateStatus,
  type RightToCheck,
  StateUnavailableError,
  type TicketEnvelope,
  type VersionedKey,
} from '@sotto/state';
import { headerNames, ServiceError } from '@sotto/wire';
import type { FastifyRequest } from 'fastify';
import type { KeyCache } from './key-cache.ts';

/** The credential of a request, as far as it can be judged without the body: a ticket that opens, or a key that exists. */
export type Credential =
  | { readonly kind: 'ticket'; readonly envelope: OpenedTicket; readonly ticketHash: string }
  | { readonly kind: 'key'; readonly apiKey: string; readonly keyHash: string; readonly key: VersionedKey };

export interface CredentialDependencies {
  readonly state: Pick<AdmissionPort, 'peek'>;
  readonly keys: KeyCache;
  readonly ticketSealingKey: Keys;
  readonly now: () => number;
}

/** A request whose credential is asked for. */
export interface Asked {
  readonly request: FastifyRequest;
  /** The name, for a sentence, of an operation that takes tickets only; undefined for one that takes a bare key as well. */
  readonly ticketOnly: string | undefined;
  /** Whether the endpoint takes attestation tickets, and these alone. Default: it takes all others. */
  readonly attests?: boolean;
}

/** Credentials that were read before the body: reading them again would open the ticket a second time. */
const known = new WeakMap<FastifyRequest, Promise<Credential>>();

/**
 * Reads the credential of a request, once. Throws `ticket_required`, `invalid_ticket`, `invalid_api_key`, or
 * `service_unavailable` where Redis is away.
 */
export function credentialOf(deps: CredentialDependencies, asked: Asked): Promise<Credential> {
  const found = known.get(asked.request) ?? readCredential(deps, asked);
  known.set(asked.request, found);
  return found;
}

async function readCredential(
  deps: CredentialDependencies,
  { request, ticketOnly, attests = false }: Asked,
): Promise<Credential> {
  const ticket = request.headers[headerNames.ticket];
  const hasTicket = typeof ticket === 'string' && ticket !== '';
  const token = bearerToken(request);
  // An empty bearer says nothing beside a ticket.
  const apiKey = token === '' && hasTicket ? undefined : token;
  if (apiKey !== undefined && ticketOnly !== undefined) {
    throw new ServiceError('ticket_required', {
      message: `${ticketOnly} is served by ticket only: send it in \`x-router-ticket\`, and no \`authorization\`.`,
    });
  }
  if (apiKey !== undefined) return { kind: 'key', apiKey, ...(await findKey(deps, apiKey)) };
  if (!hasTicket) throw new ServiceError('ticket_required');
  const envelope = openTicket(deps.ticketSealingKey, ticket);
  if (envelope === undefined || isLongExpired(envelope, deps.now())) throw new ServiceError('invalid_ticket');
  // A ticket of the other kind is left as it is: it may still be used where it belongs.
  if ((envelope.attestation !== undefined) !== attests) throw new ServiceError('invalid_ticket');
  const ticketHash = hashSecret(ticket);
  // A used ticket still opens. It must not hold memory for a large body until the redeem finds out.
  const credential = { kind: 'ticket', envelope, ticketHash } as const;
  if (mayBeLarge(request.headers)) await checkRight(deps, credential);
  return credential;
}

const longMs = 24 * 3_600_000;

/**
 * Whether a ticket expired long ago. Its mark in Redis says whether it has just expired, by one clock for all brokers: the
 * clock of this machine may have stepped.
 */
const isLongExpired = ({ expiresAt }: Pick<TicketEnvelope, 'expiresAt'>, now: number): boolean =>
  expiresAt + longMs <= now;

/** Reads the rate limits of a credential. Throws for a ticket that was used or has expired, and for a revoked key. */
export async function checkRight(
  { state, keys }: Pick<CredentialDependencies, 'state' | 'keys'>,
  credential: Credential,
): Promise<RateStatus> {
  try {
    const rate = await state.peek(rightOf(credential));
    if (rate !== undefined) return rate;
  } catch (error) {
    if (error instanceof StateUnavailableError) throw new ServiceError('service_unavailable');
    throw error;
  }
  if (credential.kind === 'ticket') throw new ServiceError('invalid_ticket');
  // Else the next request with the revoked key would be let in again, and its body with it.
  keys.drop(credential.keyHash);
  throw new ServiceError('invalid_api_key');
}

const rightOf = (credential: Credential): RightToCheck => {
  if (credential.kind === 'key') {
    const { key, keyHash } = credential;
    return { shard: key.shard, right: { kind: 'key', keyHash } };
  }
  const { envelope, ticketHash } = credential;
  const { shard, generation } = envelope;
  return { shard, right: { kind: 'ticket', ticketHash }, generation };
};

/** Finds the key of compatibility mode, or throws what its caller must be told. */
export async function findKey(
  deps: Pick<CredentialDependencies, 'keys'>,
  apiKey: string,
  { fresh = false } = {},
): Promise<{ readonly keyHash: string; readonly key: VersionedKey }> {
  if (apiKeyKind(apiKey) === undefined) throw new ServiceError('invalid_api_key');
  try {
    const found = fresh
      ? { keyHash: hashSecret(apiKey), key: await deps.keys.fresh(apiKey) }
      : await deps.keys.find(apiKey);
    if (found.key === undefined) throw new ServiceError('invalid_api_key');
    return { keyHash: found.keyHash, key: found.key };
  } catch (error) {
    if (error instanceof StateUnavailableError) throw new ServiceError('service_unavailable');
    throw error;
  }
}
