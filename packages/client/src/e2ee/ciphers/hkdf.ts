import type { Bytes } from '../bytes.ts';

export interface HkdfInput {
  readonly secret: Bytes;
  /** Default: as many zero bytes as the hash is long (RFC 5869). */
  readonly salt?: Bytes;
  readonly info: Bytes;
  /** Number of bytes to derive. */
  readonly length: number;
}

/** HKDF-SHA-256, extract and expand (RFC 5869). */
export async function hkdf({ secret, salt = new Uint8Array(0), info, length }: HkdfInput): Promise<Bytes> {
  const key = await crypto.subtle.importKey('raw', secret, 'HKDF', false, ['deriveBits']);
  return new Uint8Array(await crypto.subtle.deriveBits({ name: 'HKDF', hash: 'SHA-256', salt, info }, key, length * 8));
}
