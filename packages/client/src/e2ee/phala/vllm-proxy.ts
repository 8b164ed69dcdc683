import { toHex } from '../bytes.ts';
import { aesGcm } from '../ciphers/aes-gcm.ts';
import { ed25519 } from '../ciphers/ed25519.ts';
import { fieldCipher } from '../ciphers/field-cipher.ts';
import { secp256k1 } from '../ciphers/secp256k1.ts';
import type { PhalaKey } from '../enclave-key.ts';
import type { Sealing, SealingInput } from '../family.ts';
import { withoutPointPrefix } from '../fields/point-prefix.ts';
import { sealFields } from '../fields/seal-fields.ts';
import { requireApplied } from './applied.ts';

export const vllmProxyCiphers = {
  ed25519: fieldCipher(ed25519, 'ed25519_encryption', aesGcm),
  secp256k1: fieldCipher(secp256k1, 'ecdsa_encryption', aesGcm),
};

/**
 * Version 2 of Dstack-TEE/dstack-vllm-proxy (docs/e2ee_protocol.md): ciphertexts are bound to the model, their place, the
 * request's nonce and time, and the reply's id. Version 1, which binds nothing, is never spoken.
 */
export async function sealForVllmProxy({
  key,
  chat,
  random,
  now,
}: SealingInput<Extract<PhalaKey, { readonly protocol: 'vllm-proxy' }>>): Promise<Sealing> {
  const cipher = vllmProxyCiphers[key.algorithm];
  const algo = key.algorithm === 'ed25519' ? 'ed25519' : 'ecdsa';
  const replyKey = await cipher.makeReplyKey(random);
  const nonce = toHex(random(16));
  const ts = Math.floor(now / 1000);
  return sealFields(
    { chat, random },
    {
      cipher,
      recipient: key.publicKey,
      replyKey,
      model: key.model,
      headers: {
        'x-signing-algo': algo,
        'x-client-pub-key': toHex(replyKey.publicKey),
        'x-model-pub-key': toHex(withoutPointPrefix(key.publicKey)),
        'x-e2ee-version': '2',
        'x-e2ee-nonce': nonce,
        'x-e2ee-timestamp': String(ts),
      },
      requestAad: (index) => `v2|req|algo=${algo}|model=${key.model}|m=${index}|c=-|n=${nonce}|ts=${ts}`,
      replyAad: ({ model, id, choice, field }) =>
        `v2|resp|algo=${algo}|model=${model}|id=${id}|choice=${choice}|field=${field}|n=${nonce}|ts=${ts}`,
      checkHeaders: requireApplied,
    },
  );
}
