import { type GatewayChallenge, type GatewayVerification, verifyGatewayUnder } from './gateway/verify-gateway.ts';
import type { VerificationTime } from './moment.ts';
import { nvidiaIntermediates } from './nvidia/nvidia-intermediates.ts';
import { type NvidiaEvidence, type NvidiaVerification, verifyNvidiaUnder } from './nvidia/verify-nvidia.ts';
import type { ProviderChallenge } from './provider/provider-challenge.ts';
import { type ProviderVerification, verifyProviderUnder } from './provider/verify-provider.ts';
import { amdRoots } from './snp/amd-roots.ts';
import { type SnpEvidence, type SnpPolicy, type SnpVerification, verifySnpUnder } from './snp/verify-snp.ts';
import { intelSgxRoot } from './tdx/intel-root.ts';
import { type TdxEvidence, type TdxPolicy, type TdxVerification, verifyTdxUnder } from './tdx/verify-tdx.ts';

// The only doors to the verifiers: behind them the vendors' roots are fixed, and no argument replaces one.

/**
 * Verifies an Intel TDX quote (v4 or v5) under Intel's pinned root, offline: certificates, revocation, TCB levels of
 * platform, module and quoting enclave, and the machine's settings. Never throws; read `checks`.
 */
export function verifyTdx(evidence: TdxEvidence, time: VerificationTime, policy: TdxPolicy): Promise<TdxVerification> {
  return verifyTdxUnder(intelSgxRoot, evidence, time, policy);
}

/**
 * Verifies an AMD SEV-SNP report (version 2 to 5; Milan, Genoa, Turin) under AMD's pinned roots, offline: chain, revocation,
 * signature, TCB and chip, guest policy. Never throws; read `checks`.
 */
export function verifySnp(evidence: SnpEvidence, time: VerificationTime, policy: SnpPolicy): Promise<SnpVerification> {
  return verifySnpUnder(amdRoots, evidence, time, policy);
}

/**
 * Verifies the tokens of NVIDIA's remote attestation service for our `nonce` (64 lower-case hex digits), under NVIDIA's
 * pinned intermediates. GPUs are an axis of their own. Never throws; read `standing` and `checks`.
 */
export function verifyNvidia(
  evidence: NvidiaEvidence,
  nonce: string,
  time: VerificationTime,
): Promise<NvidiaVerification> {
  return verifyNvidiaUnder(nvidiaIntermediates, evidence, nonce, time);
}

/**
 * Verifies hop 1 from the answer of `GET /gateway/attestation`: hardware, our nonce and origin, the key set, our pins, and
 * the TLS key of the connection where it can be seen. Pass `undefined` where there was no answer. Never throws.
 */
export function verifyGateway(document: unknown, challenge: GatewayChallenge): Promise<GatewayVerification> {
  return verifyGatewayUnder({ verifyTdx, verifySnp }, document, challenge);
}

/**
 * Verifies hop 2 from a provider's evidence document (`providerEvidenceSchema`): hardware, our nonce, the route that we asked
 * for, the binding of its keys as its family makes it, and our pins. Pass `undefined` where there was no answer. Never throws.
 */
export function verifyProvider(document: unknown, challenge: ProviderChallenge): Promise<ProviderVerification> {
  return verifyProviderUnder({ verifyTdx, verifySnp, verifyNvidia }, document, challenge);
}
