export type { DstackIdentity } from './dstack/identity.ts';
export {
  type DstackCheckName,
  type DstackEvidence,
  type DstackVerification,
  dstackChecks,
  verifyDstackSnp,
  verifyDstackTdx,
} from './dstack/verify-dstack.ts';
export { type GatewayCheckName, type GatewayEvidenceCheckName, gatewayChecks } from './gateway/check-hardware.ts';
export {
  type GatewayEvidence,
  gatewayEvidenceSchema,
  type Provenance,
  provenanceSchema,
} from './gateway/evidence.ts';
export { type GatewayPins, gatewayPinsSchema } from './gateway/pins.ts';
export type { GatewayChallenge, GatewayVerification } from './gateway/verify-gateway.ts';
export { verifyGateway, verifyNvidia, verifyProvider, verifySnp, verifyTdx } from './hardware.ts';
export type { VerificationTime } from './moment.ts';
export {
  type GpuStanding,
  type NvidiaCheckName,
  type NvidiaEvidence,
  type NvidiaVerification,
  nvidiaChecks,
} from './nvidia/verify-nvidia.ts';
export type { ProviderGpu } from './provider/check-gpu.ts';
export { type ProviderCheckName, providerChecks } from './provider/family-check.ts';
export type { ProviderChallenge } from './provider/provider-challenge.ts';
export {
  type ProviderEvidence,
  type ProviderFamily,
  providerEvidenceSchema,
  providerFamilies,
} from './provider/provider-evidence.ts';
export type { ProviderKey } from './provider/provider-key.ts';
export { measurementSchema, type ProviderPins, providerPinsSchema } from './provider/provider-pins.ts';
export type { ProviderEvidenceCheckName, ProviderVerification } from './provider/verify-provider.ts';
export {
  type ProviderReceiptCheckName,
  providerReceiptChecks,
  type ReceiptChallenge,
  verifyProviderReceipt,
} from './provider/verify-receipt.ts';
export { type Receipt, type ReceiptBill, receiptBytes, receiptSchema } from './receipt/receipt.ts';
export { type OwnExchange, type ReceiptCheckName, receiptChecks, verifyReceipt } from './receipt/verify-receipt.ts';
export { encodeSimulatedEvidence } from './simulated/simulated.ts';
export { type SnpProduct, snpProducts } from './snp/amd-roots.ts';
export type { MinimumTcb, SnpReport, SnpTcb } from './snp/report.ts';
export {
  type SnpCheckName,
  type SnpEvidence,
  type SnpPolicy,
  type SnpVerification,
  snpCurrencyChecks,
  snpReportChecks,
} from './snp/verify-snp.ts';
export { canonicalJson } from './statement/canonical-json.ts';
export { type KeySet, keySetDigest, keySetSchema } from './statement/key-set.ts';
export {
  type Audience,
  isNonce,
  reportDataOf,
  type Statement,
  statementBytes,
  statementPurposes,
} from './statement/statement.ts';
export { type TdxCollateral, tdxCollateralSchema } from './tdx/collateral.ts';
export type { PckPlatform } from './tdx/pck-extension.ts';
export type { TdReport, TdxQuote } from './tdx/quote.ts';
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
