import { intelSgxRoot } from './tdx/intel-root.ts';
import {
  type TdxEvidence,
  type TdxPolicy,
  type TdxVerification,
  type VerificationTime,
  verifyTdxUnder,
} from './tdx/verify-tdx.ts';

/**
 * Verifies an Intel TDX quote (v4 or v5) under Intel's pinned root, offline: certificates, revocation, TCB levels of
 * platform, module and quoting enclave, and the machine's settings. Never throws; read `checks`.
 */
export function verifyTdx(evidence: TdxEvidence, time: VerificationTime, policy: TdxPolicy): Promise<TdxVerification> {
  return verifyTdxUnder(intelSgxRoot, evidence, time, policy);
}
