export { type Bytes, concatBytes, decodeBase64, decodeHex, toBase64, toHex } from './bytes.ts';
export { dstackChecks } from './dstack/verify-dstack.ts';
export { gatewayChecks } from './gateway/check-hardware.ts';
export {
  type GatewayEvidence,
  gatewayEvidenceSchema,
  type Provenance,
  provenanceSchema,
} from './gateway/evidence.ts';
export {
  type GatewayPins,
  gatewayPinsSchema,
  type HardwareVendor,
  hardwareVendors,
  type MatchedPin,
  vendorByTee,
} from './gateway/pins.ts';
export type {
  ChannelBinding,
  ExportedChannel,
  GatewayChallenge,
  GatewayVerification,
} from './gateway/verify-gateway.ts';
export { verifyGateway, verifyNvidia, verifyProvider, verifySnp, verifyTdx } from './hardware.ts';
export { followProof, leafHash, MerkleTree, nodeHash, splitOf } from './merkle.ts';
export { nvidiaChecks } from './nvidia/verify-nvidia.ts';
export { type ProviderKey, providerChecks } from './provider/family-check.ts';
export type { ProviderChallenge } from './provider/provider-challenge.ts';
export {
  type ProviderEvidence,
  type ProviderFamily,
  providerEvidenceSchema,
  providerFamilies,
} from './provider/provider-evidence.ts';
export { measurementSchema, type ProviderPins, providerPinsSchema } from './provider/provider-pins.ts';
export type { ProviderVerification } from './provider/verify-provider.ts';
export {
  providerReceiptChecks,
  verifyProviderReceipt,
} from './provider/verify-receipt.ts';
export { type Receipt, type ReceiptBill, receiptBytes, receiptSchema } from './receipt/receipt.ts';
export { receiptChecks, verifyReceipt } from './receipt/verify-receipt.ts';
export { encodeSimulatedEvidence } from './simulated/simulated.ts';
export {
  snpCurrencyChecks,
  snpReportChecks,
} from './snp/verify-snp.ts';
export { canonicalJson } from './statement/canonical-json.ts';
export {
  type ChannelProof,
  channelBinding,
  channelLeaf,
  channelTree,
  mostLeaves,
  tlsExporter,
} from './statement/channel-tree.ts';
export { type KeySet, keySetDigest, keySetSchema } from './statement/key-set.ts';
export {
  type Audience,
  channelPurposes,
  channelStatementBytes,
  reportDataOf,
  statementBytes,
  statementPurposes,
} from './statement/statement.ts';
export type { TdxCollateral } from './tdx/collateral.ts';
export {
  tdxCollateralChecks,
  tdxQuoteChecks,
} from './tdx/verify-tdx.ts';
export { commitSchema, timeSchema } from './text-schemas.ts';
export { type Check, type Currency, isPrevented, meetsVerdict, type Verdict, verdicts } from './verdict.ts';
