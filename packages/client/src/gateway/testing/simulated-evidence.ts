import {
  channelBinding,
  channelLeaf,
  channelPurposes,
  channelStatementBytes,
  channelTree,
  encodeSimulatedEvidence,
  type GatewayEvidence,
  type KeySet,
  keySetDigest,
  statementBytes,
  statementPurposes,
} from '@sotto/attestation';
import { toBase64 } from '../../e2ee/bytes.ts';

/** The claims of a stand-in gateway about itself. */
export interface SimulatedGateway {
  readonly origin: string;
  /** SHA-256 of the SPKI of each TLS key, hex. */
  readonly spkiSha256?: readonly string[];
  /** Unix seconds. Default: one day from now. */
  readonly notAfter?: number;
  /** The origin of the signed statement, if it differs from the origin of the key set. */
  readonly statedOrigin?: string;
  /** Whether its key set says that it binds evidence to connections. */
  readonly bindsChannels?: boolean;
  /** The keys that sign its receipts. Default: none. */
  readonly receiptKeys?: KeySet['receipt_signing_keys'];
}

export function simulatedKeySet({
  origin,
  spkiSha256 = [],
  notAfter,
  bindsChannels,
  receiptKeys = [],
}: SimulatedGateway): KeySet {
  return {
    service: 'sotto',
    not_after: notAfter ?? Math.floor(Date.now() / 1000) + 86_400,
    provider_registry_digest: `sha256:${'0'.repeat(64)}`,
    tls_public_keys: spkiSha256.map((digest) => ({ origin, spki_sha256: digest })),
    receipt_signing_keys: [...receiptKeys],
    e2ee_public_keys: [],
    ...(bindsChannels === true && { channel_bindings: [channelBinding] }),
  };
}

/**
 * Simulated evidence for a nonce, as a broker in development returns it.
 *
 * @param exporter - what the connection exports (32 bytes), if the evidence is to be bound to it.
 */
export async function simulatedEvidence(
  nonce: string,
  gateway: SimulatedGateway,
  exporter?: Uint8Array,
): Promise<GatewayEvidence> {
  const keySet = simulatedKeySet(gateway);
  const stated = { keySetDigest: keySetDigest(keySet), origin: gateway.statedOrigin ?? gateway.origin };
  const tree = exporter && channelTree([channelLeaf(nonce, exporter)]);
  const statement =
    tree === undefined
      ? statementBytes({ ...stated, nonce, purpose: statementPurposes.client.simulated })
      : channelStatementBytes({ ...stated, root: tree.root, purpose: channelPurposes.simulated });
  const keys = await crypto.subtle.generateKey('Ed25519', true, ['sign', 'verify']);
  const publicKey = new Uint8Array(await crypto.subtle.exportKey('raw', keys.publicKey));
  const signature = new Uint8Array(await crypto.subtle.sign('Ed25519', keys.privateKey, statement));
  return {
    version: 'sotto.gateway.evidence.v1',
    key_set: keySet,
    evidence: {
      tee_type: 'simulated',
      simulated: true,
      simulated_evidence: toBase64(encodeSimulatedEvidence(publicKey, signature)),
    },
    ...(tree && { channel: tree.proofOf(0) }),
  };
}
