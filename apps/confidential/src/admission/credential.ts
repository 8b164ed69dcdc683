import { type BodyHolder, bearerToken, mayBeLarge, misplacedKey } from '@sotto/server';
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
  type VersionedKey,
} from '@sotto/state';
import { headerNames, ServiceError } from '@sotto/wire';
import type { FastifyRequest } from 'fastify';
import type { KeyCache } from './key-cache.ts';

/** A request's credential, as far as it can be judged without the body: a ticket that opens, or a key that exists. */
export type Credential = TicketCredential | KeyCredential;

export interface TicketCredential {
  readonly kind: 'ticket';
  readonly envelope: OpenedTicket;
  readonly ticketHash: string;
}

export interface KeyCredential {
  readonly kind: 'key';
  readonly apiKey: string;
  readonly secretHash: string;
  readonly key: VersionedKey;
}

export interface CredentialDependencies {
  readonly state: Pick<AdmissionPort, 'peek' | 'countRefusal'>;
  readonly keys: KeyCache;
  readonly ticketSealingKey: Keys;
  readonly now: () => number;
}

/** The credentials that an endpoint accepts. */
export interface Accepts {
  /** The operation's name in a sentence. Present if it accepts tickets only. */
  readonly ticketOnly?: string;
  /** Whether the endpoint accepts attestation tickets and no others. Default: it accepts all others. */
  readonly attests?: boolean;
}

/**
 * Reads the credential of a request. Throws `ticket_required`, `invalid_ticket` or `invalid_api_key`; throws
 * `service_unavailable` if Redis is unavailable.
 */
export async function readCredential(
  deps: CredentialDependencies,
  request: Pick<FastifyRequest, 'headers'>,
  { ticketOnly, attests = false }: Accepts,
): Promise<Credential> {
  const ticket = request.headers[headerNames.ticket];
  const hasTicket = typeof ticket === 'string' && ticket !== '';
  const token = bearerToken(request);
  // Ignore an empty bearer beside a ticket.
  const apiKey = token === '' && hasTicket ? undefined : token;
  if (apiKey !== undefined && ticketOnly !== undefined) {
    throw new ServiceError('ticket_required', {
      message: `${ticketOnly} is served by ticket only: send it in \`x-router-ticket\`, and no \`authorization\`. \`sotto proxy\` on your machine does this for programs that have a key.`,
    });
  }
  if (apiKey !== undefined) return { kind: 'key', apiKey, ...(await findKey(deps, apiKey)) };
  if (ticket === '') throw new ServiceError('ticket_required', { message: misplacedKey(request) ?? emptyTicket });
  if (!hasTicket) throw new ServiceError('ticket_required', { message: misplacedKey(request) });
  const envelope = openTicket(deps.ticketSealingKey, ticket);
  if (envelope === undefined || isLongExpired(envelope, deps.now())) throw new ServiceError('invalid_ticket');
  // Leave a ticket of the other kind as it is, so that it can still be used where it belongs.
  if ((envelope.attestation !== undefined) !== attests) throw new ServiceError('invalid_ticket');
  const ticketHash = hashSecret(ticket);
  // A used ticket still opens. It must not make the broker hold a large body in memory until the redeem fails.
  const credential = { kind: 'ticket', envelope, ticketHash } as const;
  if (mayBeLarge(request.headers)) await checkRight(deps, credential);
  return credential;
}

/** Most clients send it after the request for the ticket failed. curl leaves out an empty header. */
const emptyTicket = 'The ticket is empty: the request for it failed. Run it alone to see why.';

/**
 * Returns by what the memory of a request’s body is counted: the ticket or key, not the address, which many users may
 * share. Callers may have many tickets, and the broker cannot tell whose they are. The shard, which it sees anyway,
 * bounds all tickets and keys of an account together.
 */
export const bodyHolder = (credential: Credential): BodyHolder =>
  credential.kind === 'key'
    ? { id: keyHashOf(credential), group: `shard ${credential.key.shard}` }
    : { id: credential.ticketHash, group: `shard ${credential.envelope.shard}` };

const longMs = 24 * 3_600_000;

/**
 * Whether a ticket expired at least 24 hours ago. For a more recent expiry, ask its mark in Redis: Redis has one clock
 * for all brokers, and this machine's clock may have stepped.
 */
const isLongExpired = ({ expiresAt }: OpenedTicket, now: number): boolean => expiresAt + longMs <= now;

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
  // Otherwise the cache would let in the next request with the revoked key, and its body with it.
  keys.drop(credential.secretHash);
  throw new ServiceError('invalid_api_key');
}

/** A key’s secrets share its limits, so it is named by one hash, whichever of them was shown. */
const keyHashOf = ({ key, secretHash }: Pick<KeyCredential, 'key' | 'secretHash'>): string => key.keyHash ?? secretHash;

export const keyRight = (shown: Pick<KeyCredential, 'key' | 'secretHash'>) =>
  ({ kind: 'key', keyHash: keyHashOf(shown), secretHash: shown.secretHash }) as const;

export const rightOf = (credential: Credential): RightToCheck => {
  if (credential.kind === 'key') {
    return { shard: credential.key.shard, right: keyRight(credential) };
  }
  const { envelope, ticketHash } = credential;
  return { shard: envelope.shard, right: { kind: 'ticket', ticketHash } };
};

/** Finds a key of compatibility mode. Throws the caller's error for an unknown key. */
export async function findKey(
  deps: Pick<CredentialDependencies, 'keys'>,
  apiKey: string,
  { fresh = false } = {},
): Promise<Pick<KeyCredential, 'key' | 'secretHash'>> {
  if (apiKeyKind(apiKey) === undefined) throw new ServiceError('invalid_api_key');
  try {
    const { secretHash, key } = await (fresh ? deps.keys.fresh(apiKey) : deps.keys.find(apiKey));
    if (key === undefined) throw new ServiceError('invalid_api_key');
    return { secretHash, key };
  } catch (error) {
    if (error instanceof StateUnavailableError) throw new ServiceError('service_unavailable');
    throw error;
  }
}
