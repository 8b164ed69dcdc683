import { ClientError } from '../../errors.ts';
import { toHex } from '../bytes.ts';
import { aesGcm } from '../ciphers/aead.ts';
import { fieldCipher } from '../ciphers/field-cipher.ts';
import { ed25519, secp256k1, x25519 } from '../ciphers/key-agreement.ts';
import type { KeyOf } from '../enclave-key.ts';
import type { E2eeFamily, Sealing, SealingInput } from '../family.ts';
import { sealFields, withoutPointPrefix } from '../fields/seal-fields.ts';

/** Phala and redpill: E2EE v2 of the gateway if the attested key set offers it, otherwise that of dstack-vllm-proxy. */
export const phalaFamily: E2eeFamily<KeyOf<'phala'>> = {
  seal: ({ key, ...input }) =>
    key.protocol === 'aci' ? sealForGateway({ key, ...input }) : sealForVllmProxy({ key, ...input }),
};

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
 * E2EE v2 of Dstack-TEE/private-ai-gateway (spec/e2ee-v2.md). It binds every ciphertext to its field, the model, the
 * request's nonce and time, and the reply's id.
 */
function sealForGateway(input: SealingInput<Extract<KeyOf<'phala'>, { readonly protocol: 'aci' }>>): Promise<Sealing> {
  const { key, random, now } = input;
  const { name: algo, cipher } = gatewaySuites[key.algorithm];
  return sealFields(input, cipher, (clientKey) => {
    const nonce = toHex(random(32));
    const ts = Math.floor(now / 1000);
    const bound = { algo, model: key.model, nonce, ts };
    return {
      headers: { ...headersOf({ clientKey, nonce, ts }), 'x-model-pub-key': toHex(key.publicKey) },
      requestAad: (index) =>
        canonical({ ...bound, field: `messages.${index}.content`, purpose: 'aci.e2ee.request.v2' }),
      replyAad: ({ choice, holder, field, id }) =>
        canonical({ ...bound, id, field: `choices.${choice}.${holder}.${field}`, purpose: 'aci.e2ee.response.v2' }),
      checkHeaders: requireApplied,
    };
  });
}

/** JSON in the canonical form of RFC 8785. For flat objects of strings and integers, only the order of fields matters. */
function canonical(fields: Readonly<Record<string, string | number>>): string {
  const sorted = Object.entries(fields).sort(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify(Object.fromEntries(sorted));
}

export const vllmProxyCiphers = {
  ed25519: fieldCipher(ed25519, 'ed25519_encryption', aesGcm),
  secp256k1: fieldCipher(secp256k1, 'ecdsa_encryption', aesGcm),
};

/**
 * Version 2 of Dstack-TEE/dstack-vllm-proxy (docs/e2ee_protocol.md). It binds ciphertexts to the model, their place,
 * the request's nonce and time, and the reply's id. The client never speaks version 1, which binds nothing.
 */
function sealForVllmProxy(
  input: SealingInput<Extract<KeyOf<'phala'>, { readonly protocol: 'vllm-proxy' }>>,
): Promise<Sealing> {
  const { key, random, now } = input;
  const algo = key.algorithm === 'ed25519' ? 'ed25519' : 'ecdsa';
  return sealFields(input, vllmProxyCiphers[key.algorithm], (clientKey) => {
    const nonce = toHex(random(16));
    const ts = Math.floor(now / 1000);
    return {
      headers: {
        ...headersOf({ clientKey, nonce, ts }),
        'x-signing-algo': algo,
        'x-model-pub-key': toHex(withoutPointPrefix(key.publicKey)),
      },
      requestAad: (index) => `v2|req|algo=${algo}|model=${key.model}|m=${index}|c=-|n=${nonce}|ts=${ts}`,
      replyAad: ({ model, id, choice, field }) =>
        `v2|resp|algo=${algo}|model=${model}|id=${id}|choice=${choice}|field=${field}|n=${nonce}|ts=${ts}`,
      checkHeaders: requireApplied,
    };
  });
}

/** Headers of both protocols. */
const headersOf = (bound: { readonly clientKey: string; readonly nonce: string; readonly ts: number }) => ({
  'x-e2ee-version': '2',
  'x-client-pub-key': bound.clientKey,
  'x-e2ee-nonce': bound.nonce,
  'x-e2ee-timestamp': String(bound.ts),
});

/** Rejects a reply without the header that claims encryption. The header proves nothing: every field must still open. */
function requireApplied(headers: Headers): void {
  if (headers.get('x-e2ee-applied')?.toLowerCase() !== 'true' || headers.get('x-e2ee-version') !== '2') {
    throw new ClientError('e2ee_reply_not_encrypted');
  }
}
