import { ml_kem768 as kem } from '@noble/post-quantum/ml-kem.js';
import { ClientError } from '../../errors.ts';
import { type Bytes, concat, copy, type RandomBytes, utf8 } from '../bytes.ts';
import { type AeadKey, chacha20, tagBytes } from '../ciphers/aead.ts';
import { hkdf } from '../ciphers/hkdf.ts';

/** Length of an ML-KEM-768 ciphertext (FIPS 203). */
export const kemBytes = 1088;

/** The HKDF info: it separates the keys of an exchange. */
type Purpose = 'e2e-req-v1' | 'e2e-resp-v1' | 'e2e-stream-v1';

/** Creates the key pair for one reply. The request carries the public key. */
export function makeReplyKeyPair(random: RandomBytes): { readonly publicKey: Bytes; readonly secretKey: Bytes } {
  const seed = random(64);
  const { publicKey, secretKey } = kem.keygen(seed);
  seed.fill(0);
  return { publicKey: copy(publicKey), secretKey: copy(secretKey) };
}

/** Seals to an ML-KEM key: KEM ciphertext ‖ nonce ‖ ciphertext ‖ tag. Throws `e2ee_key_invalid`. */
export async function sealBlob(
  publicKey: Bytes,
  plaintext: Bytes,
  { purpose, random }: { readonly purpose: Purpose; readonly random: RandomBytes },
): Promise<Bytes> {
  const coins = random(32);
  let encapsulated: ReturnType<typeof kem.encapsulate>;
  try {
    encapsulated = kem.encapsulate(publicKey, coins);
  } catch {
    throw new ClientError('e2ee_key_invalid');
  }
  coins.fill(0);
  const key = await keyOf(copy(encapsulated.sharedSecret), copy(encapsulated.cipherText), purpose);
  encapsulated.sharedSecret.fill(0);
  const nonce = random(12);
  const sealed = await key.seal(nonce, plaintext);
  key.close();
  return concat(encapsulated.cipherText, nonce, sealed);
}

/** Opens the output of `sealBlob`. Throws `e2ee_reply_malformed` if it is too short, `e2ee_decryption_failed` otherwise. */
export async function openBlob(secretKey: Bytes, blob: Bytes, purpose: Purpose): Promise<Uint8Array> {
  if (blob.length < kemBytes + chacha20.nonceBytes + tagBytes) throw new ClientError('e2ee_reply_malformed');
  const key = await decapsulate(secretKey, blob.slice(0, kemBytes), purpose);
  try {
    return await openWith(key, blob.slice(kemBytes));
  } finally {
    key.close();
  }
}

/**
 * Returns the key that a KEM ciphertext carries. It never fails for a ciphertext of the right length: ML-KEM rejects
 * implicitly, so a forged one gives a key that opens nothing.
 */
export async function decapsulate(secretKey: Bytes, ciphertext: Bytes, purpose: Purpose): Promise<AeadKey> {
  return keyOf(copy(kem.decapsulate(ciphertext, secretKey)), ciphertext, purpose);
}

/** Opens nonce ‖ ciphertext ‖ tag. Throws `e2ee_decryption_failed`. */
export async function openWith(key: AeadKey, sealed: Bytes): Promise<Uint8Array> {
  try {
    return await key.open(sealed.slice(0, chacha20.nonceBytes), sealed.slice(chacha20.nonceBytes));
  } catch {
    throw new ClientError('e2ee_decryption_failed');
  }
}

async function keyOf(sharedSecret: Bytes, kemCiphertext: Bytes, purpose: Purpose): Promise<AeadKey> {
  const salt = kemCiphertext.slice(0, 16);
  const key = await hkdf({ secret: sharedSecret, salt, info: utf8(purpose), length: 32 });
  sharedSecret.fill(0);
  return chacha20.use(key);
}
