import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { type Keys, withAnyKey } from './keys.ts';

const nonceLength = 12;
const tagLength = 16;

/** Encrypts and authenticates with AES-256-GCM: nonce, ciphertext, tag. A fresh nonce each time. */
export function seal(key: Buffer, plaintext: Buffer, purpose: string): Buffer {
  const nonce = randomBytes(nonceLength);
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(purpose));
  return Buffer.concat([nonce, cipher.update(plaintext), cipher.final(), cipher.getAuthTag()]);
}

/** Opens what `seal` made under one of these keys and for this purpose; undefined for anything else. */
export const unseal = (keys: Keys, sealed: Buffer, purpose: string): Buffer | undefined =>
  sealed.length < nonceLength + tagLength ? undefined : withAnyKey(keys, (key) => unsealWith(key, sealed, purpose));

function unsealWith(key: Buffer, sealed: Buffer, purpose: string): Buffer | undefined {
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, nonceLength))
      .setAAD(Buffer.from(purpose))
      .setAuthTag(sealed.subarray(sealed.length - tagLength));
    const plaintext = decipher.update(sealed.subarray(nonceLength, sealed.length - tagLength));
    // Adds nothing, and throws where the tag is not that of what was decrypted.
    decipher.final();
    return plaintext;
  } catch {
    return undefined;
  }
}
