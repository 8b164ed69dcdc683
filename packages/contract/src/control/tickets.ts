import { providerEvidenceSchema } from '@sotto/attestation/documents';
import {
  attestationTicketAnswerSchema,
  attestationTicketRequestSchema,
  providerReceiptSchema,
  teeAttestationQuerySchema,
  ticketAnswerSchema,
  ticketRequestSchema,
} from '@sotto/wire';
import { contracts } from '../contract.ts';
import { ofPlanning } from '../errors.ts';

/** What the private flow needs before content goes anywhere. */
export const ticketContracts = contracts({
  'POST /v1/inference/tickets': {
    operationId: 'createTicket',
    limit: 'minting',
    summary: 'Get a ticket',
    description:
      'A single-use right to one request at the confidential origin. It binds model, provider policy and reasoning selection, and for media their settings: the request that redeems it must ask for the same. Content never belongs here: unknown fields are refused.',
    credentials: ['inferenceKey', 'accessToken'],
    body: ticketRequestSchema,
    status: 200,
    answer: ticketAnswerSchema,
    returns: 'The ticket. `privacy_class` is the weakest class that the policy could reach.',
    examples: {
      body: { model: 'demo/chat' },
      answer: { ticket: 'AbHk3n0rT2…', privacy_class: 'private', expires_at: '2026-11-21T08:05:00.000Z' },
    },
    errors: [...ofPlanning, 'context_too_large', 'insufficient_balance', 'media_disabled'],
  },
  'POST /v1/inference/attestation-tickets': {
    operationId: 'createAttestationTicket',
    limit: 'minting',
    summary: 'Get an attestation ticket',
    description: 'A single-use right to evidence of the enclave that would serve this model. Free.',
    credentials: ['inferenceKey', 'accessToken'],
    body: attestationTicketRequestSchema,
    status: 200,
    answer: attestationTicketAnswerSchema,
    returns: 'The ticket, for `POST /v1/tee/attestation` at the confidential origin.',
    examples: {
      body: { model: 'acme/small', provider: 'acme' },
      answer: { ticket: 'AbHk3n0rT2…', expires_at: '2026-11-21T08:05:00.000Z' },
    },
    errors: [...ofPlanning],
  },
  'GET /v1/tee/attestation': {
    operationId: 'getProviderEvidence',
    limit: 'minting',
    summary: "Evidence of a provider's enclave",
    description:
      'The same evidence as by attestation ticket at the confidential origin, which control asks for it. Free.',
    credentials: ['inferenceKey', 'accessToken'],
    query: {
      schema: teeAttestationQuerySchema,
      notes: {
        model: 'The model whose enclave is to be verified.',
        provider: 'Which of its providers; without it, the one that would serve.',
        nonce: {
          description: 'Exactly 64 hex digits, fresh for each verification.',
          example: '0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0',
        },
      },
    },
    status: 200,
    answer: providerEvidenceSchema,
    returns: 'The evidence, made for this nonce.',
    errors: [...ofPlanning, 'invalid_ticket'],
  },
  'GET /v1/tee/signature/{providerRequestId}': {
    operationId: 'getProviderReceipt',
    limit: 'minting',
    summary: "An enclave's own receipt of one answer",
    description:
      'Signed by the enclave after its answer has ended, and kept for an hour. Not every provider gives them.',
    credentials: ['inferenceKey', 'accessToken'],
    params: { providerRequestId: { note: 'The header `x-router-provider-request-id` of the answer.' } },
    status: 200,
    answer: providerReceiptSchema,
    returns: 'The receipt: hashes and a signature.',
    errors: ['not_found'],
  },
});
