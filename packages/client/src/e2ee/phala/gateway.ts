import { toHex } from '../bytes.ts';
import { aesGcm } from '../ciphers/aes-gcm.ts';
import { fieldCipher } from '../ciphers/field-cipher.ts';
import { secp256k1 } from '../ciphers/secp256k1.ts';
import { x25519 } from '../ciphers/x25519.ts';
import type { PhalaKey } from '../enclave-key.ts';
import type { Sealing, SealingInput } from '../family.ts';
import { sealFields } from '../fields/seal-fields.ts';
import { requireApplied } from './applied.ts';

export const gatewaySuites = {
  x25519: {
    name: 'x25519-aes-256-gcm-hkdf-sha256',
    cipher: fieldCipher(x25519, 'aci.e2ee.v2.x25519', aesGcm),
  },
  secp256k1: {
    name: 'secp256k1-aes-256-gcm-hkdf-sha256',
    cipher: fieldCipher(secp256k1, 'aci.e2ee.v2.secp256k1', aesGcm),
  },
};

/**
 * E2EE v2 of Dstack-TEE/private-ai-gateway (spec/e2ee-v2.md): every ciphertext is bound to its field, the model, the
 * request's nonce and time, and the reply's id.
 */
export async function sealForGateway({
  key,
  chat,
  random,
  now,
}: SealingInput<Extract<PhalaKey, { readonly protocol: 'aci' }>>): Promise<Sealing> {
  const { name: algo, cipher } = gatewaySuites[key.algorithm];
  const replyKey = await cipher.makeReplyKey(random);
  const nonce = toHex(random(32));
  const ts = Math.floor(now / 1000);
  const bound = { algo, model: key.model, nonce, ts };
  return sealFields(
    { chat, random },
    {
      cipher,
      recipient: key.publicKey,
      replyKey,
      model: key.model,
      headers: {
        'x-e2ee-version': '2',
        'x-client-pub-key': toHex(replyKey.publicKey),
        'x-model-pub-key': toHex(key.publicKey),
        'x-e2ee-nonce': nonce,
        'x-e2ee-timestamp': String(ts),
      },
      requestAad: (index) =>
        canonical({ ...bound, field: `messages.${index}.content`, purpose: 'aci.e2ee.request.v2' }),
      replyAad: ({ choice, holder, field, id }) =>
        canonical({ ...bound, id, field: `choices.${choice}.${holder}.${field}`, purpose: 'aci.e2ee.response.v2' }),
      checkHeaders: requireApplied,
    },
  );
}

/** JSON in the canonical form of RFC 8785, which for flat objects of strings and integers is only a matter of order. */
function canonical(fields: Readonly<Record<string, string | number>>): string {
  const sorted = Object.entries(fields).sort(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify(Object.fromEntries(sorted));
}
