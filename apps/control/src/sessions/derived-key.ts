import { hkdfSync } from 'node:crypto';

/** A key of 32 bytes for one purpose, by HKDF-SHA-256. Keys of different purposes tell nothing of each other or the secret. */
export const derivedKey = (secret: string, purpose: string): Buffer =>
  Buffer.from(hkdfSync('sha256', secret, '', purpose, 32));
