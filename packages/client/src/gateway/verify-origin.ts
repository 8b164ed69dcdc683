import type { GatewayChallenge, GatewayPins, GatewayVerification } from '@sotto/attestation';
import { secureRandom, toHex } from '../e2ee/bytes.ts';
import { ClientError } from '../errors.ts';
import type { EvidenceReading, OriginConnection, Platform } from './platform.ts';

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
  /** The value in hex that the connection exported. Undefined if it exports none, or was not asked to. */
  readonly exporter: string | undefined;
  /** The verified document. Keep it with `nonce`, `verifiedAt` and `exporter` to verify it again later. */
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
export async function verifyOrigin(question: OriginQuestion): Promise<OriginVerification> {
  const { verification, connection } = await verifyConnection(question);
  connection?.close();
  return verification;
}

/** A verification, and the connection that it was made on if the platform shows it. Close it after use. */
export interface ConnectionVerification {
  readonly verification: OriginVerification;
  readonly connection: OriginConnection | undefined;
}

/** The same on a new connection, which stays open. */
export async function verifyConnection({
  platform,
  verifyGateway,
  origin,
  pins,
  now,
  signal,
  withinMs = 60_000,
}: OriginQuestion): Promise<ConnectionVerification> {
  signal?.throwIfAborted();
  platform.requireReachable?.(origin);
  const nonce = toHex(secureRandom(32));
  const binding = pins.channel === false ? 'key' : 'channel';
  // All requests wait for the same verification, so evidence that arrives slowly must not block them forever.
  const late = AbortSignal.timeout(withinMs);
  const reading = await readEvidence(() =>
    platform.readEvidence(origin, { nonce, binding }, signal === undefined ? late : AbortSignal.any([signal, late])),
  );
  const { document, tlsSpki, channel, connection } = reading;
  if (signal?.aborted) {
    connection?.close();
    throw signal.reason;
  }
  const verifiedAt = now();
  const verification = await verifyGateway(document, {
    ...{ nonce, origin, pins, now: new Date(verifiedAt), tlsSpki, channel },
  });
  return {
    verification: {
      ...verification,
      origin,
      nonce,
      verifiedAt,
      absence: verification.verdict === 'unavailable' ? (reading.absence ?? 'The service did not answer.') : undefined,
      tlsKeySeen: tlsSpki !== undefined,
      exporter: channel?.exporter === undefined ? undefined : toHex(channel.exporter),
      document,
    },
    connection,
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
