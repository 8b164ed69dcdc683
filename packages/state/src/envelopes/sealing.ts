import { createCipheriv, createDecipheriv, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { parseJson } from '@sotto/wire';

/**
 * A secret key, or two during a rotation. The first encrypts and signs, and both decrypt and verify.
 */
export type Keys = Buffer | readonly [Buffer, ...Buffer[]];

/** Returns the result of the first key that succeeds. Undefined if none does. */
function withAnyKey<T>(keys: Keys, open: (key: Buffer) => T | undefined): T | undefined {
  if (Buffer.isBuffer(keys)) return open(keys);
  for (const key of keys) {
    const opened = open(key);
    if (opened !== undefined) return opened;
  }
  return undefined;
}

const nonceLength = 12;
const tagLength = 16;

/** Encrypts and authenticates with AES-256-GCM. Returns nonce, ciphertext and tag. The nonce is random. */
export function seal(key: Buffer, plaintext: Buffer, purpose: string): Buffer {
  const nonce = randomBytes(nonceLength);
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(purpose));
  return Buffer.concat([nonce, cipher.update(plaintext), cipher.final(), cipher.getAuthTag()]);
}

/** Decrypts the result of `seal` for one of these keys and this purpose. Returns undefined for anything else. */
export const unseal = (keys: Keys, sealed: Buffer, purpose: string): Buffer | undefined =>
  sealed.length < nonceLength + tagLength ? undefined : withAnyKey(keys, (key) => unsealWith(key, sealed, purpose));

function unsealWith(key: Buffer, sealed: Buffer, purpose: string): Buffer | undefined {
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, nonceLength))
      .setAAD(Buffer.from(purpose))
      .setAuthTag(sealed.subarray(sealed.length - tagLength));
    const plaintext = decipher.update(sealed.subarray(nonceLength, sealed.length - tagLength));
    // Adds no text. Throws if the tag does not match.
    decipher.final();
    return plaintext;
  } catch {
    return undefined;
  }
}

/** A text with the MAC of its writer, so that access to Redis does not suffice to forge it. */
export interface Signed {
  readonly payload: string;
  readonly mac: string;
}

export function sign(key: Buffer, purpose: string, value: unknown): Signed {
  const payload = JSON.stringify(value);
  return { payload, mac: macOf(key, purpose, payload).toString('base64url') };
}

/** Returns the value that one of these keys signed for this purpose. Undefined if none did, or if the text is not JSON. */
export function verify(keys: Keys, purpose: string, { payload, mac }: Signed): unknown {
  const given = Buffer.from(mac, 'base64url');
  const isOf = (key: Buffer): true | undefined => {
    const expected = macOf(key, purpose, payload);
    return (given.length === expected.length && timingSafeEqual(given, expected)) || undefined;
  };
  return withAnyKey(keys, isOf) === undefined ? undefined : parseJson(payload);
}

const macOf = (key: Buffer, purpose: string, payload: string): Buffer =>
  createHmac('sha256', key).update(`${purpose}\0${payload}`).digest();
