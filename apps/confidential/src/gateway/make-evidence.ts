import { type GatewayEvidence, type KeySet, keySetDigest, type Provenance, statementBytes } from '@sotto/attestation';
import type { EvidenceProducer } from '@sotto/attestation/producers';

/** What evidence says: which keys are ours towards `origin`, for whoever made the nonce (64 lower-case hex digits). */
export interface Claim {
  readonly keySet: KeySet;
  readonly nonce: string;
  readonly origin: string;
  readonly provenance?: Provenance | undefined;
}

/** Has the machine vouch for a claim. Throws `EvidenceError` where it does not. */
export async function makeEvidence(
  producer: EvidenceProducer,
  { keySet, nonce, origin, provenance }: Claim,
): Promise<GatewayEvidence> {
  const statement = statementBytes({ keySetDigest: keySetDigest(keySet), nonce, origin, purpose: producer.purpose });
  return {
    version: 'sotto.gateway.evidence.v1',
    key_set: keySet,
    evidence: await producer.produce(statement),
    ...(provenance && { provenance }),
  };
}
