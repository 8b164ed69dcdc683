import { sha256 } from '@noble/hashes/sha2.js';
import * as z from 'zod';
import { toHex } from '../bytes.ts';
import type { Moment } from '../moment.ts';
import { Refusal } from '../refusal.ts';
import { canonicalJson } from './canonical-json.ts';

const publicKey = z.looseObject({
  key_id: z.string().min(1).max(128),
  algorithm: z.string().min(1).max(128),
  /** Hex, lower case. */
  public_key: z
    .string()
    .regex(/^(?:[0-9a-f]{2})+$/)
    .max(8192),
});

/**
 * The broker's keys, and the other values that its attestation binds. Unknown members are kept, because the digest
 * covers all of them.
 */
export const keySetSchema = z.looseObject({
  service: z.literal('sotto'),
  /** When the set expires: seconds since the epoch, at most the last one that a `Date` can hold. */
  not_after: z.int().min(0).max(8_640_000_000_000),
  /**
   * SHA-256 of the provider registry in the measured image. The registry lists the providers and the classes that each
   * may claim.
   */
  provider_registry_digest: z.string().regex(/^sha256:[0-9a-f]{64}$/),
  /** The current and next TLS keys, by SHA-256 of their SubjectPublicKeyInfo in hex. */
  tls_public_keys: z
    .array(z.looseObject({ origin: z.string().max(512), spki_sha256: z.string().regex(/^[0-9a-f]{64}$/) }))
    .max(16),
  receipt_signing_keys: z.array(publicKey).max(16),
  e2ee_public_keys: z.array(publicKey).max(16),
  /**
   * How the broker binds evidence to a connection, where the client asks for it: `tls-exporter`. Clients that can check it
   * then accept nothing less. Absent: it does not, because another machine may terminate TLS.
   */
  channel_bindings: z.array(z.string().max(64)).max(16).optional(),
});
export type KeySet = z.infer<typeof keySetSchema>;

/** `sha256:` and the hex digest of a key set's canonical JSON. Refuses values that canonical JSON cannot contain. */
export function keySetDigest(keySet: unknown): string {
  return `sha256:${toHex(sha256(new TextEncoder().encode(canonicalJson(keySet))))}`;
}

const longestLifeMs = 90 * 24 * 3_600_000;

/** Refuses a key set that has expired, or that lives for more than 90 days. `notAfter` is its end in Unix seconds. */
export function requireLiving(notAfter: number, moment: Moment): void {
  if (!(moment.earliestMs < notAfter * 1000)) throw new Refusal('the key set has expired');
  if (!(notAfter * 1000 <= moment.latestMs + longestLifeMs)) throw new Refusal('the key set lives implausibly long');
}
