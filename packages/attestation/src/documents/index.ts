/** The shapes of evidence and receipts alone, without what verifies them: for describing answers that hold them. */
export { gatewayEvidenceSchema } from '../gateway/evidence.ts';
export { providerEvidenceSchema } from '../provider/provider-evidence.ts';
export { receiptSchema as requestReceiptSchema } from '../receipt/receipt.ts';
