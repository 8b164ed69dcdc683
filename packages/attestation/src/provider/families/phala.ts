import * as z from 'zod';
import { fromHex, sameBytes } from '../../bytes.ts';
import { Refusal, readOrRefuse, Unmade } from '../../refusal.ts';
import { canonicalJson } from '../../statement/canonical-json.ts';
import { keySetDigest, requireLiving } from '../../statement/key-set.ts';
import { reportDataOf } from '../../statement/statement.ts';
import type { FamilyFindings, FamilyTask } from '../family-check.ts';
import type { PhalaEvidence } from '../provider-evidence.ts';
import { readPoint, readSigningKey } from '../signing-key.ts';
import { requireBound, requireNonceBehind } from './near.ts';

/** Phala and redpill: dstack-vllm-proxy, or private-ai-gateway with its key set (ACI). */
export function checkPhala(evidence: PhalaEvidence, task: FamilyTask): Promise<FamilyFindings> {
  return evidence.protocol === 'aci' ? checkKeySet(evidence.key_set, task) : checkVllmProxy(evidence, task);
}

/** The layout of NEAR AI, without a TLS key. */
async function checkVllmProxy(
  evidence: Extract<PhalaEvidence, { protocol: 'vllm-proxy' }>,
  task: FamilyTask,
): Promise<FamilyFindings> {
  const { checks, reportData, nonce, upstreamModel: model } = task;
  await requireNonceBehind(task);
  const signing = await checks.make('provider.key_binding', () => requireBound(readSigningKey(evidence), reportData));
  await checks.make('provider.tls_binding', () => {
    throw new Unmade('dstack-vllm-proxy binds no TLS key');
  });
  const { algorithm, publicKey } = signing ?? {};
  return {
    key: publicKey && algorithm && { family: 'phala', protocol: 'vllm-proxy', algorithm, publicKey, model },
    gpuNonce: nonce,
  };
}

const publicKey = z.looseObject({ algo: z.string().max(128), public_key: z.string().max(8192) });
const keySetSchema = z.looseObject({
  not_after: z.int().min(0),
  e2ee_public_keys: z.array(publicKey).max(16),
  tls_public_keys: z.array(z.looseObject({ spki_sha256: z.string().regex(/^[0-9a-f]{64}$/) })).max(16),
});
type KeySet = z.infer<typeof keySetSchema>;

/**
 * ACI: report data is the SHA-256 of a statement about the key set's digest and the client's nonce, then zeros.
 * Source: Dstack-TEE/private-ai-gateway, spec/aci.md 3.
 */
async function checkKeySet(value: unknown, task: FamilyTask): Promise<FamilyFindings> {
  const { checks, nonce, moment } = task;
  const keySet = await checks.make('provider.key_binding', () => {
    const read = readOrRefuse(keySetSchema, value, 'the key set is malformed');
    requireStatement(value, task);
    return read;
  });
  if (keySet === undefined) return { key: undefined, gpuNonce: nonce };
  // One digest covers the key set and the nonce.
  await checks.make('provider.freshness', () => {});
  await checks.make('provider.validity', () => requireLiving(keySet.not_after, moment));
  const tls = await checks.make('provider.tls_binding', () => {
    if (keySet.tls_public_keys.length === 0) throw new Unmade('the key set has no TLS key');
    return keySet.tls_public_keys.map(({ spki_sha256: spki }) => spki);
  });
  return {
    key: encryptionKeyOf(keySet, task.upstreamModel),
    tlsSpkiSha256: tls,
    gpuNonce: nonce,
    expiresAtMs: keySet.not_after * 1000,
  };
}

function requireStatement(keySet: unknown, { nonce, reportData }: FamilyTask): void {
  const statement = canonicalJson({ keyset_digest: keySetDigest(keySet), nonce, purpose: 'aci.report_data.v1' });
  const expected = reportDataOf(new TextEncoder().encode(statement));
  if (!sameBytes(reportData, expected)) throw new Refusal('the report data is not for this key set and our nonce');
}

function encryptionKeyOf({ e2ee_public_keys: keys }: KeySet, model: string): FamilyFindings['key'] {
  const keyOf = (algo: string): string | undefined => keys.find((key) => key.algo === algo)?.public_key;
  const x25519 = keyOf('x25519-aes-256-gcm-hkdf-sha256');
  const secp256k1 = keyOf('secp256k1-aes-256-gcm-hkdf-sha256');
  const common = { family: 'phala', protocol: 'aci', model } as const;
  try {
    if (x25519 !== undefined) {
      return { ...common, algorithm: 'x25519', publicKey: fromHex(x25519, 'the encryption key', 32) };
    }
    if (secp256k1 !== undefined) return { ...common, algorithm: 'secp256k1', publicKey: readPoint(secp256k1) };
  } catch (error) {
    // The key set is bound as a whole. A malformed key in it is ignored.
    if (!(error instanceof Refusal)) throw error;
  }
  return undefined;
}
