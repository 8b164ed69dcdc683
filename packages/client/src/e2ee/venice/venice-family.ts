import { toHex } from '../bytes.ts';
import { aesGcm } from '../ciphers/aead.ts';
import { fieldCipher } from '../ciphers/field-cipher.ts';
import { secp256k1 } from '../ciphers/key-agreement.ts';
import type { KeyOf } from '../enclave-key.ts';
import type { E2eeFamily } from '../family.ts';
import { sealFields } from '../fields/seal-fields.ts';

export const veniceCipher = fieldCipher(secp256k1, 'ecdsa_encryption', aesGcm);

/**
 * Venice: fields (docs.venice.ai, "TEE and E2EE models"). Its documentation encrypts user and system messages; this
 * client also encrypts assistant messages. Venice only streams. Chunks carry neither order nor context.
 */
export const veniceFamily: E2eeFamily<KeyOf<'venice'>> = {
  seal: ({ key, ...input }) =>
    sealFields({ key, ...input }, veniceCipher, (clientKey) => ({
      headers: {
        'x-venice-tee-client-pub-key': clientKey,
        'x-venice-tee-model-pub-key': toHex(key.publicKey),
        'x-venice-tee-signing-algo': 'ecdsa',
      },
      streamsOnly: true,
      extraBody: { venice_parameters: { enable_e2ee: true } },
    })),
};
