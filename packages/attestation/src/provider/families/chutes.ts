import { sha256 } from '@noble/hashes/sha2.js';
import { type Bytes, fromBase64, sameBytes, toHex } from '../../bytes.ts';
import { Refusal, Unmade } from '../../refusal.ts';
import { parseCertificate } from '../../x509/certificate.ts';
import type { FamilyFindings, FamilyTask } from '../family-check.ts';
import type { ChutesEvidence } from '../provider-evidence.ts';

const keyBytes = 1184;

/** Splits a route's `upstream_model`: `<model>@<chute id>`. */
function readChute(upstreamModel: string): { readonly model: string; readonly chuteId: string } {
  const at = upstreamModel.lastIndexOf('@');
  if (at <= 0) throw new Refusal('the upstream model does not name its chute, as in model@chute');
  return { model: upstreamModel.slice(0, at), chuteId: upstreamModel.slice(at + 1) };
}

/**
 * Chutes: report data is the SHA-256 of the client's nonce and the instance's key, both as text, then the SHA-256 of
 * its TLS key. Source: chutesai/chutes-e2ee-proxy.
 */
export async function checkChutes(evidence: ChutesEvidence, task: FamilyTask): Promise<FamilyFindings> {
  const { checks, reportData, nonce } = task;
  const bound = await checks.make('provider.key_binding', () => {
    const { model, chuteId } = readChute(task.upstreamModel);
    if (chuteId !== evidence.chute_id) throw new Refusal('the evidence is of another chute');
    const publicKey = fromBase64(evidence.e2e_pubkey, 'the encryption key');
    if (publicKey.length !== keyBytes) throw new Refusal(`the encryption key has not ${keyBytes} bytes`);
    const digest = sha256(new TextEncoder().encode(nonce + evidence.e2e_pubkey));
    if (!sameBytes(reportData.subarray(0, 32), digest)) {
      throw new Refusal('the report data is not for our nonce and the encryption key');
    }
    return { model, chuteId, publicKey, gpuNonce: toHex(digest) };
  });
  // One digest covers key and nonce.
  if (bound !== undefined) await checks.make('provider.freshness', () => {});
  const tls = await checks.make('provider.tls_binding', () => requireCertificate(evidence, reportData));
  const expiresAt = evidence.e2e_nonce_expires_at;
  if (expiresAt !== undefined) {
    await checks.make('provider.validity', () => {
      if (!(task.moment.earliestMs < expiresAt)) throw new Refusal("the instance's nonce has expired");
    });
  }
  return {
    key: bound && keyOf(evidence, bound),
    tlsSpkiSha256: tls,
    gpuNonce: bound?.gpuNonce,
    expiresAtMs: expiresAt,
  };
}

function requireCertificate({ certificate }: ChutesEvidence, reportData: Uint8Array): string[] {
  if (certificate === undefined) throw new Unmade('no certificate was shown');
  const digest = sha256(parseCertificate(fromBase64(certificate, 'the certificate')).spki);
  if (!sameBytes(reportData.subarray(32), digest)) throw new Refusal('the report data does not name the TLS key');
  return [toHex(digest)];
}

/** Without the instance's single-use nonce, the key cannot be used, so no key is returned. */
function keyOf(
  { instance_id: instanceId, e2e_nonce: nonce, e2e_nonce_expires_at: expiresAt }: ChutesEvidence,
  { model, chuteId, publicKey }: { model: string; chuteId: string; publicKey: Bytes },
): FamilyFindings['key'] {
  if (nonce === undefined || expiresAt === undefined) return undefined;
  const algorithm = 'ml-kem-768';
  return { family: 'chutes', algorithm, publicKey, model, chuteId, instanceId, nonce, expiresAt };
}
