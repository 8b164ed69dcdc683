import type { Bytes } from '../bytes.ts';
import type { Aead } from './aead.ts';

/** AES-256-GCM by the platform, under keys that it does not give out again. */
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
