import { ownBytes } from '../bytes/bytes.ts';
import { toBase64 } from '../bytes/encodings.ts';
import { encodeSimulatedEvidence } from '../simulated/simulated.ts';
import type { EvidenceProducer } from './producer.ts';

/**
 * A producer for development, with a key made for the occasion. Its evidence has a type, a magic and purposes of its own, and
 * verifies to `untrusted`.
 */
export async function simulatedProducer(): Promise<EvidenceProducer> {
  const pair = await crypto.subtle.generateKey('Ed25519', false, ['sign', 'verify']);
  if (!('privateKey' in pair)) throw new Error('Ed25519 makes key pairs');
  const publicKey = new Uint8Array(await crypto.subtle.exportKey('raw', pair.publicKey));
  return {
    kind: 'simulated',
    async produce(statement) {
      const signed = ownBytes(statement, 'the statement', 4096);
      const signature = new Uint8Array(await crypto.subtle.sign('Ed25519', pair.privateKey, signed));
      return {
        tee_type: 'simulated',
        simulated: true,
        simulated_evidence: toBase64(encodeSimulatedEvidence(publicKey, signature)),
      };
    },
    async refresh() {},
  };
}
