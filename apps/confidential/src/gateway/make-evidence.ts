import {
  type Audience,
  type GatewayEvidence,
  type KeySet,
  keySetDigest,
  type Provenance,
  statementBytes,
  statementPurposes,
} from '@sotto/attestation';
import type { EvidenceProducer } from '@sotto/attestation/producers';

/**
 * The content of evidence: which keys are the broker's towards `origin`, for the maker of the nonce (64 lower-case hex
 * digits).
 */
export interface Claim {
  /** The kind of verifier that accepts it. */
  readonly audience: Audience;
  readonly keySet: KeySet;
  readonly nonce: string;
  readonly origin: string;
  readonly provenance?: Provenance | undefined;
}

/** Has the machine sign a claim. Throws `EvidenceError` if it does not. */
export async function makeEvidence(
  producer: EvidenceProducer,
  { audience, keySet, nonce, origin, provenance }: Claim,
): Promise<GatewayEvidence> {
  const purpose = statementPurposes[audience][producer.kind === 'simulated' ? 'simulated' : 'hardware'];
  const statement = statementBytes({ keySetDigest: keySetDigest(keySet), nonce, origin, purpose });
  return {
    version: 'sotto.gateway.evidence.v1',
    key_set: keySet,
    evidence: await producer.produce(statement),
    ...(provenance && { provenance }),
  };
}
