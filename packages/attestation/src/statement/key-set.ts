import { sha256 } from '@noble/hashes/sha2.js';
import * as z from 'zod';
import { toHex } from '../bytes/encodings.ts';
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
 * The keys that the broker stands for, and what else its attestation binds. Members that this version does not know are
 * kept, because the digest is over all of them.
 */
export const keySetSchema = z.looseObject({
  service: z.literal('sotto'),
  /** When the set must no longer be used: seconds since the epoch. */
  not_after: z.int().min(0),
  /** SHA-256 of the provider registry in the measured image: which providers exist and what each may claim. */
  provider_registry_digest: z.string().regex(/^sha256:[0-9a-f]{64}$/),
  /** The TLS keys of now and next, by SHA-256 of their SubjectPublicKeyInfo in hex. */
  tls_public_keys: z
    .array(z.looseObject({ origin: z.string().max(512), spki_sha256: z.string().regex(/^[0-9a-f]{64}$/) }))
    .max(16),
  receipt_signing_keys: z.array(publicKey).max(16),
  e2ee_public_keys: z.array(publicKey).max(16),
});
export type KeySet = z.infer<typeof keySetSchema>;

/** `sha256:` and the hex digest of a key set's canonical JSON. Refuses what canonical JSON cannot hold. */
export function keySetDigest(keySet: unknown): string {
  return `sha256:${toHex(sha256(new TextEncoder().encode(canonicalJson(keySet))))}`;
}
