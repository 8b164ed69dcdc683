/** The schemas of evidence and receipts without the verifiers, for describing API responses that contain them. */
export { gatewayEvidenceSchema } from '../gateway/evidence.ts';
export { providerEvidenceSchema } from '../provider/provider-evidence.ts';
export { receiptSchema as requestReceiptSchema } from '../receipt/receipt.ts';
