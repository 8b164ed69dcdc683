import { toHex, verifyGateway } from '@sotto/attestation';
import type { OriginVerification } from '../gateway/verify-origin.ts';
import { readOrigin } from '../origin.ts';
import type { ClientPins } from '../pins/client-pins.ts';

/** A document that a broker gave, and what was asked for. */
export interface Recording {
  /** The answer of `GET /v1/gateway/attestation`. */
  readonly document: unknown;
  /** With or without `/v1`. */
  readonly origin: string;
  /** The nonce that it was asked for: 64 lower-case hex digits. */
  readonly nonce: string;
  /** Unix ms at which it was recorded. Certificates and dates are checked as of then. */
  readonly recordedAt: number;
  /** The value that the connection exported: 32 bytes. Needed for evidence that is for one connection. */
  readonly exporter?: Uint8Array | undefined;
}

/**
 * Verifies recorded evidence, without a network. It proves what a broker was then. The TLS key of its connection was
 * not seen, so the verdict is at most `cryptographically_checked`. Throws `origin_invalid`.
 */
export async function verifyRecorded(
  { document, origin: address, nonce, recordedAt, exporter }: Recording,
  { gateway: pins }: ClientPins,
): Promise<OriginVerification> {
  const { origin } = readOrigin('origin', address);
  const channel = exporter && { exporter };
  const verification = await verifyGateway(document, { nonce, origin, pins, now: new Date(recordedAt), channel });
  const absence = document === undefined ? 'The recording is not JSON.' : undefined;
  return {
    ...verification,
    ...{ origin, nonce, verifiedAt: recordedAt, absence, tlsKeySeen: false, document },
    exporter: exporter && toHex(exporter),
  };
}
