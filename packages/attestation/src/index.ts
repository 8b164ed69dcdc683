export type { DstackIdentity } from './dstack/identity.ts';
export {
  type DstackCheckName,
  type DstackEvidence,
  type DstackVerification,
  dstackChecks,
  verifyDstackSnp,
  verifyDstackTdx,
} from './dstack/verify-dstack.ts';
export { verifyNvidia, verifySnp, verifyTdx } from './hardware.ts';
export type { VerificationTime } from './moment.ts';
export {
  type GpuStanding,
  type NvidiaCheckName,
  type NvidiaEvidence,
  type NvidiaVerification,
  nvidiaChecks,
} from './nvidia/verify-nvidia.ts';
export { type SnpProduct, snpProducts } from './snp/amd-roots.ts';
export { parseSnpReport, type SnpReport, type SnpTcb } from './snp/report.ts';
export {
  type SnpCheckName,
  type SnpEvidence,
  type SnpPolicy,
  type SnpVerification,
  snpCurrencyChecks,
  snpReportChecks,
} from './snp/verify-snp.ts';
export { type TdxCollateral, tdxCollateralSchema } from './tdx/collateral.ts';
export type { PckPlatform } from './tdx/pck-extension.ts';
export { parseTdxQuote, type TdReport, type TdxQuote } from './tdx/quote.ts';
export type { TcbAssessment, TcbStatus } from './tdx/tcb-status.ts';
export {
  type TdxCheckName,
  type TdxEvidence,
  type TdxPolicy,
  type TdxVerification,
  tdxCollateralChecks,
  tdxQuoteChecks,
} from './tdx/verify-tdx.ts';
export { type Check, compareVerdicts, judge, meetsVerdict, type Rungs, type Verdict, verdicts } from './verdict.ts';
