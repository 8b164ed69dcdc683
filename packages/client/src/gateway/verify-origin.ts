import type { GatewayChallenge, GatewayPins, GatewayVerification } from '@sotto/attestation';
import { secureRandom, toHex } from '../e2ee/bytes.ts';
import { ClientError } from '../errors.ts';
import type { EvidenceReading, Platform } from './platform.ts';

/** One verification of a confidential origin: the first hop, from the client to the broker. */
export interface OriginVerification extends GatewayVerification {
  readonly origin: string;
  /** The fresh nonce that this client chose. */
  readonly nonce: string;
  /** Unix milliseconds. */
  readonly verifiedAt: number;
  /** Why there was no evidence. Only set if the verdict is `unavailable`. */
  readonly absence: string | undefined;
  /** Whether the platform showed the TLS key of the connection. */
  readonly tlsKeySeen: boolean;
  /** The verified document. Keep it to verify it again later. */
  readonly document: unknown;
}

/** Verifies the evidence of a broker. It contains the vendors' root certificates. */
export type VerifyGateway = (document: unknown, challenge: GatewayChallenge) => Promise<GatewayVerification>;

export interface OriginQuestion {
  readonly platform: Platform;
  readonly verifyGateway: VerifyGateway;
  readonly origin: string;
  readonly pins: GatewayPins;
  readonly now: () => number;
  readonly signal?: AbortSignal | undefined;
  /** Time in ms that the origin may take for its evidence. Default: one minute. */
  readonly withinMs?: number | undefined;
}

/**
 * Asks the origin for evidence with a fresh nonce and verifies it. It does not throw for a failure of the origin. Throws
 * `option_invalid` for an origin that the relay must not carry.
 */
export async function verifyOrigin({
  platform,
  verifyGateway,
  origin,
  pins,
  now,
  signal,
  withinMs = 60_000,
}: OriginQuestion): Promise<OriginVerification> {
  signal?.throwIfAborted();
  platform.requireReachable?.(origin);
  const nonce = toHex(secureRandom(32));
  // All requests wait for the same verification, so evidence that arrives slowly must not block them forever.
  const late = AbortSignal.timeout(withinMs);
  const reading = await readEvidence(() =>
    platform.readEvidence(origin, nonce, signal === undefined ? late : AbortSignal.any([signal, late])),
  );
  signal?.throwIfAborted();
  const verifiedAt = now();
  const challenge = { nonce, origin, pins, now: new Date(verifiedAt), tlsSpki: reading.tlsSpki };
  const verification = await verifyGateway(reading.document, challenge);
  return {
    ...verification,
    origin,
    nonce,
    verifiedAt,
    absence: verification.verdict === 'unavailable' ? (reading.absence ?? 'The service did not answer.') : undefined,
    tlsKeySeen: reading.tlsSpki !== undefined,
    document: reading.document,
  };
}

async function readEvidence(read: () => Promise<EvidenceReading>): Promise<EvidenceReading> {
  try {
    return await read();
  } catch (error) {
    return { document: undefined, absence: absenceOf(error) };
  }
}

/** Why there is no evidence, without what the error of evidence says anyway. */
function absenceOf(error: unknown): string {
  if (!(error instanceof ClientError)) return 'The connection failed.';
  if (error.code !== 'confidential_unreachable') return error.message;
  const code = error.cause instanceof Error && 'code' in error.cause ? ` (${error.cause.code})` : '';
  return `The connection failed${code}.`;
}
