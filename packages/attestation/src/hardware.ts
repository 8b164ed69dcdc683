import { type GatewayChallenge, type GatewayVerification, verifyGatewayUnder } from './gateway/verify-gateway.ts';
import type { VerificationTime } from './moment.ts';
import { type NvidiaEvidence, type NvidiaVerification, verifyNvidiaUnder } from './nvidia/verify-nvidia.ts';
import { amdRoots, intelSgxRoot, nvidiaIntermediates } from './pinned-roots.ts';
import type { ProviderChallenge } from './provider/provider-challenge.ts';
import { type ProviderVerification, verifyProviderUnder } from './provider/verify-provider.ts';
import { type SnpEvidence, type SnpPolicy, type SnpVerification, verifySnpUnder } from './snp/verify-snp.ts';
import { type TdxEvidence, type TdxPolicy, type TdxVerification, verifyTdxUnder } from './tdx/verify-tdx.ts';

// The only public entry points to the verifiers. The vendors' roots are fixed here, and no argument can replace one.

/**
 * Verifies an Intel TDX quote (v4 or v5) under Intel's pinned root, offline. Covers certificates, revocation, TCB
 * levels of platform, module and quoting enclave, and the machine's settings. Never throws; read `checks`.
 */
export function verifyTdx(evidence: TdxEvidence, time: VerificationTime, policy: TdxPolicy): Promise<TdxVerification> {
  return verifyTdxUnder(intelSgxRoot, evidence, time, policy);
}

/**
 * Verifies an AMD SEV-SNP report (version 2 to 5; Milan, Genoa, Turin) under AMD's pinned roots, offline. Covers the
 * chain, revocation, signature, TCB, chip and guest policy. Never throws; read `checks`.
 */
export function verifySnp(evidence: SnpEvidence, time: VerificationTime, policy: SnpPolicy): Promise<SnpVerification> {
  return verifySnpUnder(amdRoots, evidence, time, policy);
}

/**
 * Verifies the tokens of NVIDIA's remote attestation service for the client's `nonce` (64 lower-case hex digits), under
 * NVIDIA's pinned intermediates. The result for GPUs is separate from the verdict. Never throws; read `standing` and
 * `checks`.
 */
export function verifyNvidia(
  evidence: NvidiaEvidence,
  nonce: string,
  time: VerificationTime,
): Promise<NvidiaVerification> {
  return verifyNvidiaUnder(nvidiaIntermediates, evidence, nonce, time);
}

/**
 * Verifies hop 1 from the answer of `GET /gateway/attestation`. Covers hardware, the client's nonce and origin, the key
 * set, the client's pins, and the TLS key of the connection if it is known. Pass `undefined` if there was no answer.
 * Never throws.
 */
export function verifyGateway(document: unknown, challenge: GatewayChallenge): Promise<GatewayVerification> {
  return verifyGatewayUnder({ verifyTdx, verifySnp }, document, challenge);
}

/**
 * Verifies hop 2 from a provider's evidence document (`providerEvidenceSchema`). Covers hardware, the client's nonce
 * and pins, the requested route, and how the family binds its keys. Pass `undefined` if there was no answer. Never
 * throws.
 */
export function verifyProvider(document: unknown, challenge: ProviderChallenge): Promise<ProviderVerification> {
  return verifyProviderUnder({ verifyTdx, verifySnp, verifyNvidia }, document, challenge);
}
