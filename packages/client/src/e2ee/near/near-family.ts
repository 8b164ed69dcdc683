import { toHex } from '../bytes.ts';
import { aesGcm } from '../ciphers/aes-gcm.ts';
import { xchacha20 } from '../ciphers/chacha.ts';
import { ed25519 } from '../ciphers/ed25519.ts';
import { fieldCipher } from '../ciphers/field-cipher.ts';
import { secp256k1 } from '../ciphers/secp256k1.ts';
import type { NearKey } from '../enclave-key.ts';
import type { E2eeFamily } from '../family.ts';
import { withoutPointPrefix } from '../fields/point-prefix.ts';
import { sealFields } from '../fields/seal-fields.ts';

export const nearCiphers = {
  ed25519: fieldCipher(ed25519, 'ed25519_encryption', xchacha20),
  secp256k1: fieldCipher(secp256k1, 'ecdsa_encryption', aesGcm),
};

/**
 * NEAR AI (nearai/inference-proxy), fields, version 2. The version is always named: its default, 1, is NaCl's box for
 * ed25519, another scheme. Chunks carry neither order nor context: where some are dropped or swapped, nothing shows it.
 */
export const nearFamily: E2eeFamily<NearKey> = {
  async seal({ key, chat, random }) {
    const cipher = nearCiphers[key.algorithm];
    const replyKey = await cipher.makeReplyKey(random);
    return sealFields(
      { chat, random },
      {
        cipher,
        recipient: key.publicKey,
        replyKey,
        model: key.model,
        headers: {
          'x-signing-algo': key.algorithm === 'ed25519' ? 'ed25519' : 'ecdsa',
          'x-client-pub-key': toHex(replyKey.publicKey),
          'x-model-pub-key': toHex(withoutPointPrefix(key.publicKey)),
          'x-encryption-version': '2',
          // Without it only what is spoken is encrypted, and refusals come in clear.
          'x-encrypt-all-fields': 'true',
        },
      },
    );
  },
};
