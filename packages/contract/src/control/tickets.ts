import { providerEvidenceSchema } from '@sotto/attestation/documents';
import {
  modelIdField,
  nonceSchema,
  privacyClassSchema,
  providerIdSchema,
  providerPolicySchema,
  ticketRequestSchema,
} from '@sotto/wire';
import * as z from 'zod';
import { contracts } from '../contract.ts';
import { ofPlanning } from '../errors.ts';
import { instant } from '../fields.ts';
import { providerReceiptSchema } from '../provider-receipt.ts';
import { nonceNote } from '../route.ts';

export const ticketAnswerSchema = z.strictObject({
  ticket: z.string(),
  /** With `count`: all tickets. `ticket` is the first of them. */
  tickets: z.array(z.string()).optional(),
  privacy_class: privacyClassSchema.describe('The weakest class that the policy allows.'),
  expires_at: instant,
});
export type TicketAnswer = z.infer<typeof ticketAnswerSchema>;

/** Body of `POST /inference/attestation-tickets`: the enclave to verify. */
export const attestationTicketRequestSchema = z.strictObject({
  model: modelIdField,
  provider: providerPolicySchema.nullish(),
});
export type AttestationTicketRequest = z.infer<typeof attestationTicketRequestSchema>;

export const attestationTicketAnswerSchema = ticketAnswerSchema.pick({ ticket: true, expires_at: true });
export type AttestationTicketAnswer = z.infer<typeof attestationTicketAnswerSchema>;

/** Query of `GET /tee/attestation` on the control origin: the fields of both bodies above. */
export const teeAttestationQuerySchema = z.strictObject({
  model: modelIdField.describe('The model whose enclave you verify.'),
  provider: providerIdSchema.optional().describe('The provider. The default is the one that would serve.'),
  nonce: nonceSchema.meta(nonceNote),
});

/** Tickets and evidence, which clients get before they send content. */
export const ticketContracts = contracts({
  'POST /v1/inference/tickets': {
    operationId: 'createTicket',
    limit: 'minting',
    summary: 'Get a ticket',
    description:
      'A ticket allows one request at the confidential origin. It binds the model, the provider policy, the reasoning selection and the media settings. The request must have the same values. With `count` you get up to 16 tickets for the same request, all or none, and each counts for the limits. Never send content here; unknown fields are refused.',
    credentials: ['inferenceKey', 'accessToken'],
    remembersCaller: true,
    body: ticketRequestSchema,
    answer: ticketAnswerSchema,
    returns:
      'The ticket, and with `count` all `tickets`, of which it is the first. `privacy_class` is the weakest class that the policy allows.',
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
    description: 'The ticket allows one request for evidence of the enclave that would serve this model. Free.',
    credentials: ['inferenceKey', 'accessToken'],
    body: attestationTicketRequestSchema,
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
    summary: "Get evidence of a provider's enclave",
    description:
      'Control fetches the evidence from the confidential origin, where an attestation ticket gets the same. Free.',
    credentials: ['inferenceKey', 'accessToken'],
    query: teeAttestationQuerySchema,
    answer: providerEvidenceSchema,
    returns: 'The evidence, bound to your nonce.',
    errors: [...ofPlanning, 'invalid_ticket'],
  },
  'GET /v1/tee/signature/{providerRequestId}': {
    operationId: 'getProviderReceipt',
    limit: 'minting',
    summary: "Get an enclave's own receipt of an answer",
    description:
      'The enclave signs it when the answer has ended. It is kept for an hour. Not every provider has receipts.',
    credentials: ['inferenceKey', 'accessToken'],
    params: { providerRequestId: { note: 'The header `x-router-provider-request-id` of the answer.', maxLength: 100 } },
    answer: providerReceiptSchema,
    returns: 'The receipt: hashes and a signature.',
    errors: ['not_found'],
  },
  'POST /v1/tee/attestation': {
    operationId: 'refuseProviderEvidenceByTicket',
    summary: 'Always 404',
    description: 'The message refers you to the confidential origin, which accepts tickets for this.',
    credentials: [],
    errors: ['not_found'],
    openToPages: true,
  },
});
