import { toHex } from '../bytes.ts';
import { aesGcm, xchacha20 } from '../ciphers/aead.ts';
import { fieldCipher } from '../ciphers/field-cipher.ts';
import { ed25519, secp256k1 } from '../ciphers/key-agreement.ts';
import type { KeyOf } from '../enclave-key.ts';
import type { E2eeFamily } from '../family.ts';
import { sealFields, withoutPointPrefix } from '../fields/seal-fields.ts';

export const nearCiphers = {
  ed25519: fieldCipher(ed25519, 'ed25519_encryption', xchacha20),
  secp256k1: fieldCipher(secp256k1, 'ecdsa_encryption', aesGcm),
};

/**
 * NEAR AI (nearai/inference-proxy): fields, version 2. The version is always named, because the default, 1, is another
 * scheme: NaCl's box for ed25519. Chunks carry neither order nor context, so dropped or swapped chunks go unnoticed.
 */
export const nearFamily: E2eeFamily<KeyOf<'near'>> = {
  seal: ({ key, ...input }) =>
    sealFields({ key, ...input }, nearCiphers[key.algorithm], (clientKey) => ({
      headers: {
        'x-signing-algo': key.algorithm === 'ed25519' ? 'ed25519' : 'ecdsa',
        'x-client-pub-key': clientKey,
        'x-model-pub-key': toHex(withoutPointPrefix(key.publicKey)),
        'x-encryption-version': '2',
        // Without this header the enclave encrypts only spoken content, and sends refusals in plaintext.
        'x-encrypt-all-fields': 'true',
      },
    })),
};
