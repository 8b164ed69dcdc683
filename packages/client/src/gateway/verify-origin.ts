import type { GatewayChallenge, GatewayPins, GatewayVerification } from '@sotto/attestation';
import { secureRandom, toHex } from '../e2ee/bytes.ts';
import { ClientError } from '../errors.ts';
import type { EvidenceReading, Platform } from './platform.ts';

/** One verification of a confidential origin, hop 1. */
export interface OriginVerification extends GatewayVerification {
  readonly origin: string;
  /** Ours, fresh. */
  readonly nonce: string;
  /** Unix milliseconds. */
  readonly verifiedAt: number;
  /** Why nothing could be looked at; only where the verdict is `unavailable`. */
  readonly absence: string | undefined;
  /** Whether the TLS key of the connection could be seen. */
  readonly tlsKeySeen: boolean;
  /** What was verified, to keep or to verify again. */
  readonly document: unknown;
}

/** Verifies a document of hop 1: the vendors' roots are inside. */
export type VerifyGateway = (document: unknown, challenge: GatewayChallenge) => Promise<GatewayVerification>;

export interface OriginQuestion {
  readonly platform: Platform;
  readonly verifyGateway: VerifyGateway;
  readonly origin: string;
  readonly pins: GatewayPins;
  readonly now: () => number;
  readonly signal?: AbortSignal | undefined;
  /** How long the origin may take for its evidence: a minute by default. */
  readonly withinMs?: number | undefined;
}

/** Asks the origin for evidence with a fresh nonce and verifies it. Never throws for what the origin does. */
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
  const nonce = toHex(secureRandom(32));
  // Every request waits for the same verification: one that drips in may not hold them for ever.
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
    absence: verification.verdict === 'unavailable' ? (reading.absence ?? 'There was no answer.') : undefined,
    tlsKeySeen: reading.tlsSpki !== undefined,
    document: reading.document,
  };
}

async function readEvidence(read: () => Promise<EvidenceReading>): Promise<EvidenceReading> {
  try {
    return await read();
  } catch (error) {
    return { document: undefined, absence: error instanceof ClientError ? error.message : 'The connection failed.' };
  }
}
