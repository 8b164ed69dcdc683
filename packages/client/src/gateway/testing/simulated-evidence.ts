import {
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
}

export function simulatedKeySet({ origin, spkiSha256 = [], notAfter }: SimulatedGateway): KeySet {
  return {
    service: 'sotto',
    not_after: notAfter ?? Math.floor(Date.now() / 1000) + 86_400,
    provider_registry_digest: `sha256:${'0'.repeat(64)}`,
    tls_public_keys: spkiSha256.map((digest) => ({ origin, spki_sha256: digest })),
    receipt_signing_keys: [],
    e2ee_public_keys: [],
  };
}

/** Simulated evidence for a nonce, as a broker in development returns it. */
export async function simulatedEvidence(nonce: string, gateway: SimulatedGateway): Promise<GatewayEvidence> {
  const keySet = simulatedKeySet(gateway);
  const statement = statementBytes({
    keySetDigest: keySetDigest(keySet),
    nonce,
    origin: gateway.statedOrigin ?? gateway.origin,
    purpose: statementPurposes.client.simulated,
  });
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
  };
}
