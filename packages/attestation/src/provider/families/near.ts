import { sha256 } from '@noble/hashes/sha2.js';
import { type Bytes, concatBytes, fromHex, sameBytes } from '../../bytes.ts';
import { Refusal, Unmade } from '../../refusal.ts';
import type { FamilyFindings, FamilyTask } from '../family-check.ts';
import type { NearEvidence } from '../provider-evidence.ts';
import { readSigningKey, type SigningKey } from '../signing-key.ts';

/**
 * NEAR AI: report data is the signing address, then the client's nonce. If the TLS key is bound too, the SHA-256 of
 * address and TLS key hash replaces the address. Source: nearai/nearai-cloud-verifier.
 */
export async function checkNear(evidence: NearEvidence, task: FamilyTask): Promise<FamilyFindings> {
  const { checks, reportData, nonce } = task;
  const spki = evidence.tls_spki_sha256;
  await requireNonceBehind(task);
  const signing = await checks.make('provider.key_binding', () => {
    if (evidence.model_name !== undefined && evidence.model_name !== task.upstreamModel) {
      throw new Refusal('the evidence is of another model');
    }
    return requireBound(readSigningKey(evidence), reportData, spki);
  });
  const tls =
    signing &&
    (await checks.make('provider.tls_binding', () => {
      if (spki === undefined) throw new Unmade('the report data binds no TLS key');
      return [spki];
    }));
  const { algorithm, publicKey } = signing ?? {};
  const { upstreamModel: model } = task;
  return {
    key: publicKey && algorithm && { family: 'near', algorithm, publicKey, model },
    tlsSpkiSha256: tls,
    gpuNonce: nonce,
  };
}

/** Report data must end with the client's nonce. */
export async function requireNonceBehind({ checks, reportData, nonce }: FamilyTask): Promise<void> {
  await checks.make('provider.freshness', () => {
    if (!sameBytes(reportData.subarray(32), fromHex(nonce, 'our nonce', 32))) {
      throw new Refusal('the report data is not for our nonce');
    }
  });
}

/**
 * Report data must begin with the signing key's address, zero-padded, or with the digest of address and TLS key hash.
 */
export function requireBound(signing: SigningKey, reportData: Bytes, spki?: string): SigningKey {
  const expected =
    spki === undefined
      ? concatBytes(signing.address, new Uint8Array(32 - signing.address.length))
      : sha256(concatBytes(signing.address, fromHex(spki, 'the TLS key hash', 32)));
  if (sameBytes(reportData.subarray(0, 32), expected)) return signing;
  throw new Refusal(`the report data does not name the signing key${spki === undefined ? '' : ' and the TLS key'}`);
}
