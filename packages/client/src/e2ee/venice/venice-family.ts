import { toHex } from '../bytes.ts';
import { aesGcm } from '../ciphers/aes-gcm.ts';
import { fieldCipher } from '../ciphers/field-cipher.ts';
import { secp256k1 } from '../ciphers/secp256k1.ts';
import type { VeniceKey } from '../enclave-key.ts';
import type { E2eeFamily } from '../family.ts';
import { sealFields } from '../fields/seal-fields.ts';

export const veniceCipher = fieldCipher(secp256k1, 'ecdsa_encryption', aesGcm);

/**
 * Venice, fields (docs.venice.ai, "TEE and E2EE models"). Its documentation encrypts what user and system say; here what
 * the assistant said is encrypted as well. It only streams. Chunks carry neither order nor context.
 */
export const veniceFamily: E2eeFamily<VeniceKey> = {
  async seal({ key, chat, random }) {
    const replyKey = await veniceCipher.makeReplyKey(random);
    return sealFields(
      { chat, random },
      {
        cipher: veniceCipher,
        recipient: key.publicKey,
        replyKey,
        model: key.model,
        headers: {
          'x-venice-tee-client-pub-key': toHex(replyKey.publicKey),
          'x-venice-tee-model-pub-key': toHex(key.publicKey),
          'x-venice-tee-signing-algo': 'ecdsa',
        },
        streamsOnly: true,
        extraBody: { venice_parameters: { enable_e2ee: true } },
      },
    );
  },
};
