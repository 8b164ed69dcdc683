import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { keccak_256 } from '@noble/hashes/sha3.js';
import { canonicalJson, keySetDigest } from '@sotto/attestation';
import type { EnclaveKey, EnclaveKind } from './enclave-kinds.ts';
import type { TestGround } from './test-ground.ts';

/** The facts in a stand-in's evidence. A dishonest stand-in shows those of another. */
export interface Shown {
  readonly ground: TestGround;
  readonly nonce: string;
  readonly model: string;
  /** The TLS key that the evidence names. */
  readonly tlsSpki: Uint8Array;
  readonly certificate: Uint8Array;
  /** The key that signs answers or to which content is encrypted. An Ed25519 key has 32 bytes. */
  readonly key: EnclaveKey;
  readonly withTls: boolean;
  readonly now: number;
}

const sha256 = (...parts: readonly (Uint8Array | string)[]): Buffer => {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest();
};
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
const padded = (bytes: Uint8Array): Buffer => Buffer.concat([bytes, Buffer.alloc(32 - bytes.length)]);
const quoteOf = async ({ ground }: Shown, reportData: Uint8Array): Promise<Buffer> =>
  Buffer.from(await ground.machine.quote({ reportData: Uint8Array.from(reportData) }));

type Answer = (shown: Shown) => Promise<unknown>;

async function dstackReport(shown: Shown): Promise<object> {
  const { key, nonce, withTls, tlsSpki, model } = shown;
  const spki = sha256(tlsSpki);
  const first = withTls ? sha256(key.publicKey, spki) : padded(key.publicKey);
  return {
    model_name: model,
    signing_algo: 'ed25519',
    signing_address: hex(key.publicKey),
    request_nonce: nonce,
    intel_quote: hex(await quoteOf(shown, Buffer.concat([first, Buffer.from(nonce, 'hex')]))),
    nvidia_payload: JSON.stringify({ nonce, arch: 'HOPPER', evidence_list: [{ certificate: 'c', evidence: 'e' }] }),
    ...(withTls ? { tls_cert_fingerprint: hex(spki) } : {}),
    // The provider's own claim, which verifiers must ignore.
    verified: true,
  };
}

async function keySetReport(shown: Shown): Promise<object> {
  const keySet = {
    subject: null,
    not_after: Math.floor(shown.now / 1000) + 86_400,
    receipt_signing_keys: [],
    e2ee_public_keys: [{ key_id: 'e', algo: 'x25519-aes-256-gcm-hkdf-sha256', public_key: hex(shown.key.publicKey) }],
    tls_public_keys: [{ spki_sha256: hex(sha256(shown.tlsSpki)) }],
  };
  const statement = canonicalJson({
    keyset_digest: keySetDigest(keySet),
    nonce: shown.nonce,
    purpose: 'aci.report_data.v1',
  });
  const quote = await quoteOf(shown, Buffer.concat([sha256(statement), Buffer.alloc(32)]));
  return {
    api_version: 'aci/1',
    attestation: { tee_type: 'tdx', workload_keyset: keySet, evidence: { quote: hex(quote), event_log: null } },
  };
}

/** The answers with evidence of each kind, by the paths that its provider uses. */
export const evidenceAnswers: Readonly<Record<EnclaveKind, Readonly<Record<string, Answer>>>> = {
  near: {
    '/v1/attestation/report': async (shown) => ({
      [shown.withTls ? 'gateway_attestation' : 'model_attestations']: shown.withTls
        ? await dstackReport(shown)
        : [await dstackReport(shown)],
    }),
  },
  'phala-aci': { '/v1/aci/attestation': keySetReport },
  'phala-vllm-proxy': { '/v1/attestation/report': (shown) => dstackReport({ ...shown, withTls: false }) },
  venice: {
    '/v1/tee/attestation': async (shown) => {
      const { publicKey } = shown.key;
      const address = keccak_256(publicKey.subarray(1)).subarray(12);
      const quote = await quoteOf(shown, Buffer.concat([padded(address), Buffer.from(shown.nonce, 'hex')]));
      return {
        verified: true,
        model: shown.model,
        signing_public_key: hex(publicKey),
        intel_quote: hex(quote),
        server_verification: { tdx: { valid: true } },
      };
    },
  },
  tinfoil: {
    '/.well-known/tinfoil-attestation': async (shown) => ({
      format: 'https://tinfoil.sh/predicate/tdx-guest/v2',
      body: gzipSync(await quoteOf(shown, Buffer.concat([sha256(shown.tlsSpki), shown.key.publicKey]))).toString(
        'base64',
      ),
    }),
  },
  chutes: {
    '/v1/e2e/instances/': async ({ key }) => ({
      instances: [
        {
          instance_id: key.instanceId,
          e2e_pubkey: Buffer.from(key.publicKey).toString('base64'),
          nonces: [key.nonce],
        },
      ],
      nonce_expires_in: 60,
    }),
    '/v1/chutes/': async (shown) => {
      const bound = sha256(shown.nonce + Buffer.from(shown.key.publicKey).toString('base64'));
      const quote = await quoteOf(shown, Buffer.concat([bound, sha256(shown.tlsSpki)]));
      return {
        evidence: [
          {
            instance_id: shown.key.instanceId,
            quote: quote.toString('base64'),
            certificate: Buffer.from(shown.certificate).toString('base64'),
          },
        ],
      };
    },
  },
};
