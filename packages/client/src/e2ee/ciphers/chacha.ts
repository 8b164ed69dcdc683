import { chacha20poly1305, xchacha20poly1305 } from '@noble/ciphers/chacha.js';
import type { Bytes } from '../bytes.ts';
import type { Aead } from './aead.ts';

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
