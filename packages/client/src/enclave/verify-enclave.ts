import type { ProviderChallenge, ProviderKey, ProviderVerification } from '@sotto/attestation';
import { canRead, e2eeProtocols, headerNames, parseJson, type RelayAttack, relayAttacksOn } from '@sotto/wire';
import { withoutNoRetry } from '../answer.ts';
import { readBounded } from '../bounded-body.ts';
import { secureRandom, toHex } from '../e2ee/bytes.ts';
import { ClientError } from '../errors.ts';
import type { ContentChannel, ContentRequest } from '../gateway/platform.ts';
import { type ClientPins, pinsOfRoute } from '../pins/client-pins.ts';
import type { Control } from '../private/control.ts';
import { relayedRefusal } from './relayed-refusal.ts';

/** Verifies the evidence of a provider's enclave. It contains the vendors' root certificates. */
export type VerifyProvider = (document: unknown, challenge: ProviderChallenge) => Promise<ProviderVerification>;

/** One verification of a provider's enclave: the second hop, from the broker to the provider. */
export interface EnclaveVerification extends ProviderVerification {
  readonly model: string;
  readonly provider: string;
  readonly nonce: string;
  /** Unix milliseconds. */
  readonly verifiedAt: number;
  /**
   * Whether the broker can read the content of requests on this route: on a `tee` route always, on an `e2ee` route if
   * it is malicious and the enclave's protocol lets it.
   */
  readonly contentVisible: boolean;
  /** What a malicious broker can do to encrypted requests, gravest first. Undefined for a `tee` route or without a key. */
  readonly relayAttacks: readonly RelayAttack[] | undefined;
}

/** More than any evidence has: a quote with its documents, and those of eight GPUs. */
const maxEvidenceBytes = 16 * 1024 * 1024;

export interface EnclaveVerifierParts {
  readonly control: Control;
  /** The connection to the confidential origin. */
  readonly channel: Pick<ContentChannel, 'send'>;
  readonly pins: ClientPins;
  readonly verifyProvider: VerifyProvider;
  readonly now: () => number;
}

/** The enclave to verify. */
export interface EnclaveQuestion {
  readonly model: string;
  readonly provider: string;
  readonly privacyClass: 'tee' | 'e2ee';
}

/**
 * Verifies the enclave behind a route, with a ticket from the control origin and evidence for a fresh nonce. Only the
 * pins decide how the evidence is read and which model it must be for. Returns the refusal of either origin. That of the
 * confidential origin is in our own words, without `x-should-retry`. Throws `ClientError`s.
 */
export async function verifyEnclave(
  { control, channel, pins, verifyProvider, now }: EnclaveVerifierParts,
  { model, provider, privacyClass }: EnclaveQuestion,
  signal?: AbortSignal,
): Promise<EnclaveVerification | Response> {
  const ticket = await control.mintAttestation({ model, provider }, signal);
  if (ticket instanceof Response) return ticket;
  const nonce = toHex(secureRandom(32));
  const request: ContentRequest = {
    path: '/v1/tee/attestation',
    headers: { 'content-type': 'application/json', [headerNames.ticket]: ticket.ticket },
    body: JSON.stringify({ nonce }),
    signal,
  };
  const answer = await channel.send(request).catch((error: unknown) => {
    if (error instanceof ClientError || signal?.aborted) throw error;
    // The request did not contain content, so it is safe to report the failure as retryable.
    throw new ClientError('attestation_unavailable', undefined, { detail: 'The connection failed.', cause: error });
  });
  // The request did not contain content, so an SDK may retry it.
  if (answer.status >= 400) return withoutNoRetry((await relayedRefusal(answer)).toResponse());
  if (answer.status !== 200) throw new ClientError('attestation_unavailable');
  const bytes = await readBounded(answer.body, maxEvidenceBytes, signal).catch(() => undefined);
  signal?.throwIfAborted();
  const document: unknown = parseJson(new TextDecoder().decode(bytes)) ?? null;
  if (nonceOf(document) !== nonce) throw new ClientError('nonce_mismatch');
  const verifiedAt = now();
  const { family, upstreamModel, machines } = pinsOfRoute(pins.providers, { provider, model });
  const pinned = { family, upstreamModel, pins: machines };
  const challenge = { nonce, provider, model, privacyClass, ...pinned, now: new Date(verifiedAt) };
  const verification = await verifyProvider(document, challenge);
  const { key } = verification;
  const relayAttacks = privacyClass === 'e2ee' && key !== undefined ? relayAttacksOn(protocolOf(key)) : undefined;
  return {
    ...verification,
    ...{ model, provider, nonce, verifiedAt },
    contentVisible: relayAttacks === undefined || canRead(relayAttacks),
    relayAttacks,
  };
}

/** The protocol that an enclave with this key speaks. */
export const protocolOf = (key: ProviderKey) =>
  key.family === 'phala' ? e2eeProtocols[`phala-${key.protocol}`] : e2eeProtocols[key.family];

const nonceOf = (document: unknown): unknown =>
  typeof document === 'object' && document !== null && 'nonce' in document ? document.nonce : undefined;
