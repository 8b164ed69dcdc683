import type { Platform } from '../gateway/platform.ts';
import { type OriginVerification, verifyOrigin } from '../gateway/verify-origin.ts';
import { readOrigin } from '../origin.ts';
import { type ClientPins, shippedPins } from '../pins/client-pins.ts';

export interface VerifyOptions {
  /** Which machines are accepted; by default those that this build ships with. */
  readonly pins?: ClientPins;
  /** For tests: Unix milliseconds. */
  readonly now?: () => number;
  readonly signal?: AbortSignal;
}

/** What a verification found: hop 1, the confidential origin. */
export interface VerificationReport {
  readonly gateway: OriginVerification;
}

/** Verifies a confidential origin (with or without `/v1`). Throws `origin_invalid`; all else is in the report. */
export async function verifyWith(
  platform: Platform,
  origin: string,
  options: VerifyOptions,
): Promise<VerificationReport> {
  const { pins = shippedPins, now = Date.now, signal } = options;
  const { origin: checked } = readOrigin('origin', origin);
  return { gateway: await verifyOrigin({ platform, origin: checked, pins: pins.gateway, now, signal }) };
}
