import { chacha20poly1305, xchacha20poly1305 } from '@noble/ciphers/chacha.js';
import type { Bytes } from '../bytes.ts';

/** One key of an authenticated cipher. The tag follows the ciphertext. */
export interface AeadKey {
  seal(nonce: Bytes, plaintext: Bytes, aad?: Bytes): Promise<Uint8Array>;
  /** Rejects if the tag does not match. */
  open(nonce: Bytes, ciphertext: Bytes, aad?: Bytes): Promise<Uint8Array>;
  /** Erases the key material that this process can erase. */
  close(): void;
}

export interface Aead {
  readonly nonceBytes: number;
  /** Takes over a key of 32 bytes and erases the caller's copy. */
  use(key: Bytes): Promise<AeadKey>;
}

export const tagBytes = 16;

/** AES-256-GCM by the platform, with keys that it does not export. */
export const aesGcm: Aead = {
  nonceBytes: 12,
  async use(key) {
    const imported = await crypto.subtle.importKey('raw', key, 'AES-GCM', false, ['encrypt', 'decrypt']);
    key.fill(0);
    const parameters = (iv: Bytes, aad: Bytes | undefined): AesGcmParams =>
      aad === undefined ? { name: 'AES-GCM', iv } : { name: 'AES-GCM', iv, additionalData: aad };
    return {
      seal: async (nonce, plaintext, aad) =>
        new Uint8Array(await crypto.subtle.encrypt(parameters(nonce, aad), imported, plaintext)),
      open: async (nonce, ciphertext, aad) =>
        new Uint8Array(await crypto.subtle.decrypt(parameters(nonce, aad), imported, ciphertext)),
      close: () => {},
    };
  },
};

type Cipher = typeof chacha20poly1305 | typeof xchacha20poly1305;

const byNoble = (cipher: Cipher, nonceBytes: number): Aead => ({
  nonceBytes,
  async use(given) {
    const key: Bytes = new Uint8Array(given);
    given.fill(0);
    return {
      seal: async (nonce, plaintext, aad) => cipher(key, nonce, aad).encrypt(plaintext),
      open: async (nonce, ciphertext, aad) => cipher(key, nonce, aad).decrypt(ciphertext),
      close: () => {
        key.fill(0);
      },
    };
  },
});

/** ChaCha20-Poly1305 (RFC 8439), which browsers' WebCrypto lacks. */
export const chacha20 = byNoble(chacha20poly1305, 12);

/** XChaCha20-Poly1305 as in draft-irtf-cfrg-xchacha: the IETF construction, not NaCl's secretbox. */
export const xchacha20 = byNoble(xchacha20poly1305, 24);
