import { createCipheriv, createDecipheriv, hash, randomBytes } from 'node:crypto';
import { z } from 'zod';
import { derivedKey } from '../../sessions/derived-key.ts';

/** The id under which what somebody holds (a token, a code, a cookie) rests: its SHA-256, apart for each kind. */
export const artifactId = (kind: string, secret: string): string => hash('sha256', `${kind} ${secret}`, 'base64url');

const payloadSchema = z.record(z.string(), z.unknown());

/**
 * Seals a payload with a key made from the secret that finds it: whoever has the database alone can neither present the
 * secret nor read what it stands for (the payloads of oidc-provider repeat it).
 */
export function sealPayload(kind: string, secret: string, payload: object): string {
  return sealText(keyOf(kind, secret), JSON.stringify(payload));
}

/** Opens what `sealPayload` made; undefined for anything else. */
export function openPayload(kind: string, secret: string, sealed: string): Record<string, unknown> | undefined {
  const text = openText(keyOf(kind, secret), sealed);
  return text === undefined ? undefined : payloadSchema.parse(JSON.parse(text));
}

/** AES-256-GCM with a fresh nonce, as base64url: nonce, ciphertext, tag. */
export function sealText(key: Buffer, text: string): string {
  const nonce = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', key, nonce);
  return Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]).toString('base64url');
}

/** Opens what `sealText` made under the same key; undefined for anything else. */
export function openText(key: Buffer, sealed: string): string | undefined {
  const bytes = Buffer.from(sealed, 'base64url');
  if (bytes.length < 28) return undefined;
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, 12)).setAuthTag(bytes.subarray(-16));
    return Buffer.concat([decipher.update(bytes.subarray(12, -16)), decipher.final()]).toString('utf8');
  } catch {
    return undefined;
  }
}

const keyOf = (kind: string, secret: string): Buffer => derivedKey(secret, `sotto connected apps: ${kind}`);
