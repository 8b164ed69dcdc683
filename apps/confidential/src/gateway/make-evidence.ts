import {
  type Audience,
  channelPurposes,
  channelStatementBytes,
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
  return documentOf(keySet, await producer.produce(statement), provenance);
}

/** The content of evidence about connections of clients. */
export interface ChannelClaim extends Pick<Claim, 'keySet' | 'origin' | 'provenance'> {
  /** The root of their tree (`channelTree`): 64 lower-case hex digits. */
  readonly root: string;
}

/** Has the machine sign a claim about connections. The document lacks the proof of each. Throws `EvidenceError`. */
export async function makeChannelEvidence(
  producer: EvidenceProducer,
  { keySet, root, origin, provenance }: ChannelClaim,
): Promise<GatewayEvidence> {
  const purpose = channelPurposes[producer.kind === 'simulated' ? 'simulated' : 'hardware'];
  const statement = channelStatementBytes({ keySetDigest: keySetDigest(keySet), root, origin, purpose });
  return documentOf(keySet, await producer.produce(statement), provenance);
}

const documentOf = (
  keySet: KeySet,
  evidence: GatewayEvidence['evidence'],
  provenance: Provenance | undefined,
): GatewayEvidence => ({
  version: 'sotto.gateway.evidence.v1',
  key_set: keySet,
  evidence,
  ...(provenance && { provenance }),
});
