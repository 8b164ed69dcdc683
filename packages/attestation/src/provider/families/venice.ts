import { sha256 } from '@noble/hashes/sha2.js';
import { fromHex, sameBytes } from '../../bytes.ts';
import { Refusal, Unmade } from '../../refusal.ts';
import type { FamilyFindings, FamilyTask } from '../family-check.ts';
import type { VeniceEvidence } from '../provider-evidence.ts';
import { addressOf, readPoint } from '../signing-key.ts';

/**
 * Venice: report data begins with the Ethereum address of the signing key and ends with the client's nonce, or with its
 * SHA-256. Source: veniceai/api-docs.
 */
export async function checkVenice(evidence: VeniceEvidence, task: FamilyTask): Promise<FamilyFindings> {
  const { checks, reportData, nonce, upstreamModel: model } = task;
  await checks.make('provider.freshness', () => {
    const own = fromHex(nonce, 'our nonce', 32);
    const shown = reportData.subarray(32);
    if (!sameBytes(shown, own) && !sameBytes(shown, sha256(own))) {
      throw new Refusal('the report data is not for our nonce');
    }
  });
  const publicKey = await checks.make('provider.key_binding', () => {
    if (evidence.model_name !== undefined && evidence.model_name !== model) {
      throw new Refusal('the evidence is of another model');
    }
    const point = readPoint(evidence.signing_public_key);
    if (!sameBytes(reportData.subarray(0, 20), addressOf(point))) {
      throw new Refusal('the report data does not name the signing key');
    }
    return point;
  });
  await checks.make('provider.tls_binding', () => {
    throw new Unmade('Venice binds no TLS key');
  });
  return { key: publicKey && { family: 'venice', algorithm: 'secp256k1', publicKey, model }, gpuNonce: nonce };
}
