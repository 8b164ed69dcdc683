import { generateKeyPairSync } from 'node:crypto';
import { sha256 } from '@noble/hashes/sha2.js';
import { keccak_256 } from '@noble/hashes/sha3.js';
import { type Bytes, concatBytes, fromHex, toBase64, toHex } from '../bytes.ts';
import type { ProviderFamily } from '../provider/provider-evidence.ts';
import { canonicalJson } from '../statement/canonical-json.ts';
import { keySetDigest } from '../statement/key-set.ts';
import { Issuer } from './issuer.ts';

export const now = new Date('2026-01-15T00:00:00Z');
export const nonce = '0123456789abcdef'.repeat(4);
export const chuteId = '6f1e5a52-0c0e-5c57-9a37-08e1c4f3a6b1';
export const upstreamModel = `up/model@${chuteId}`;

const utf8 = (text: string): Bytes => new TextEncoder().encode(text);
export const padded = (bytes: Uint8Array): Bytes => concatBytes(bytes, new Uint8Array(32 - bytes.length));

/** One key of every kind, and all values derived from them. */
export async function makeKeys(fill: number) {
  const jwk = generateKeyPairSync('ec', { namedCurve: 'secp256k1' }).publicKey.export({ format: 'jwk' });
  const point = Uint8Array.from([4, ...Buffer.from(`${jwk.x}`, 'base64url'), ...Buffer.from(`${jwk.y}`, 'base64url')]);
  const of = (bytes: number): Bytes => new Uint8Array(bytes).fill(fill);
  const instance = await Issuer.make(`instance ${fill}`);
  const [edwards, montgomery, kem, spki] = [of(32), of(32).reverse(), of(1184), sha256(instance.spki) as Bytes];
  const keySet = {
    subject: null,
    not_after: now.getTime() / 1000 + 86_400,
    receipt_signing_keys: [{ key_id: 'r', algo: 'ed25519', public_key: 'ab'.repeat(32) }],
    e2ee_public_keys: [{ key_id: 'e', algo: 'x25519-aes-256-gcm-hkdf-sha256', public_key: toHex(montgomery) }],
    tls_public_keys: [{ spki_sha256: toHex(spki) }],
  };
  return {
    ...{ point, edwards, montgomery, kem, kemText: toBase64(kem), spki, keySet },
    certificate: await instance.certifySelf(),
    address: Uint8Array.from(keccak_256(point.subarray(1)).subarray(12)),
    /** The keys that could encrypt content or terminate TLS. */
    own: new Set([point, edwards, montgomery, kem, spki].map(toHex)),
  };
}
export type Keys = Awaited<ReturnType<typeof makeKeys>>;

/** The digest that private-ai-gateway signs: its key set, for a nonce. */
export const aciDigest = (keys: unknown, asked: string): Bytes =>
  sha256(
    utf8(canonicalJson({ keyset_digest: keySetDigest(keys), nonce: asked, purpose: 'aci.report_data.v1' })),
  ) as Bytes;
/** The digest that a chute signs: its encryption key, for a nonce. */
export const chutesDigest = (asked: string, kemText: string): Bytes => sha256(utf8(asked + kemText)) as Bytes;

/** A kind of enclave: the report data that it signs for a nonce of its caller, and how its evidence shows its keys. */
export interface Enclave {
  readonly family: ProviderFamily;
  readonly sign: (keys: Keys, nonce: Bytes) => Bytes;
  readonly show: (keys: Keys) => Record<string, unknown>;
}

export const edwardsOf = (key: Uint8Array) => ({ signing_algo: 'ed25519', signing_address: toHex(key) });
const showPoint = ({ point }: Keys) => ({ signing_public_key: toHex(point) });

export const enclaves = {
  'near, by address': {
    family: 'near',
    sign: ({ address }, asked) => concatBytes(padded(address), asked),
    show: ({ address, point }) => ({
      signing_algo: 'ecdsa',
      signing_address: toHex(address),
      signing_public_key: toHex(point.subarray(1)),
      model_name: upstreamModel,
    }),
  },
  'near, by Ed25519 key': {
    family: 'near',
    sign: ({ edwards }, asked) => concatBytes(edwards, asked),
    show: ({ edwards }) => edwardsOf(edwards),
  },
  'near, with its TLS key': {
    family: 'near',
    sign: ({ edwards, spki }, asked) => concatBytes(sha256(concatBytes(edwards, spki)), asked),
    show: ({ edwards, spki }) => ({ ...edwardsOf(edwards), tls_spki_sha256: toHex(spki) }),
  },
  'phala, dstack-vllm-proxy': {
    family: 'phala',
    sign: ({ edwards }, asked) => concatBytes(edwards, asked),
    show: ({ edwards }) => ({ protocol: 'vllm-proxy', ...edwardsOf(edwards) }),
  },
  'phala, private-ai-gateway': {
    family: 'phala',
    sign: ({ keySet }, asked) => concatBytes(aciDigest(keySet, toHex(asked)), new Uint8Array(32)),
    show: ({ keySet }) => ({ protocol: 'aci', key_set: keySet }),
  },
  'venice, raw nonce': {
    family: 'venice',
    sign: ({ address }, asked) => concatBytes(padded(address), asked),
    show: showPoint,
  },
  'venice, hashed nonce': {
    family: 'venice',
    sign: ({ address }, asked) => concatBytes(padded(address), sha256(asked)),
    show: showPoint,
  },
  tinfoil: {
    family: 'tinfoil',
    sign: ({ spki, montgomery }) => concatBytes(spki, montgomery),
    show: () => ({}),
  },
  chutes: {
    family: 'chutes',
    sign: ({ kemText, spki }, asked) => concatBytes(chutesDigest(toHex(asked), kemText), spki),
    show: ({ kemText, certificate }) => ({
      ...{ chute_id: chuteId, instance_id: 'one', e2e_pubkey: kemText, certificate: toBase64(certificate) },
      ...{ e2e_nonce: 'single-use', e2e_nonce_expires_at: now.getTime() + 55_000 },
    }),
  },
} satisfies Record<string, Enclave>;
export type EnclaveName = keyof typeof enclaves;
export const enclaveNames = Object.keys(enclaves) as EnclaveName[];
export const enclaveOf = (name: EnclaveName): Enclave => enclaves[name];

export const nonceBytes = fromHex(nonce, 'the nonce');
