import { requestReceiptSchema } from '@sotto/attestation/documents';
import { contracts } from '../contract.ts';
import { providerReceiptSchema } from '../provider-receipt.ts';
import { receiptHeader } from './inference.ts';

const headers = {
  'x-router-receipt': {
    ...receiptHeader['x-router-receipt'],
    description: 'The secret that you sent with the request.',
    required: true,
  },
} as const;

/** The receipts of a request, by the secret that was sent with it. */
export const receiptContracts = contracts({
  'GET /v1/inference/receipt': {
    operationId: 'getRequestReceipt',
    summary: 'Get the signed receipt of a request',
    description:
      'Hashes of the request as received and as forwarded, and of the answer as received and as returned. Kept for an hour.',
    credentials: [],
    openToPages: true,
    headers,
    returns: 'The receipt.',
    answer: requestReceiptSchema,
    errors: ['invalid_request', 'not_found', 'rate_limited', 'internal_error', 'service_unavailable'],
  },
  'GET /v1/inference/receipt/enclave': {
    operationId: 'getEnclaveReceipt',
    summary: "Get an enclave's own receipt of an answer",
    description:
      'The same as at the control origin by id, but no key comes with the question. The enclave signs when its answer has ended. Kept for an hour.',
    credentials: [],
    openToPages: true,
    headers,
    returns: 'The receipt: hashes of the ciphertexts and a signature.',
    answer: providerReceiptSchema,
    errors: ['invalid_request', 'not_found', 'rate_limited', 'internal_error', 'service_unavailable'],
  },
});
