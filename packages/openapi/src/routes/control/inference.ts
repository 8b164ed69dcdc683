import { teeAttestationQuerySchema } from '@sotto/wire';
import { anywhere, ofBodies, ofKeys, ofPlanning } from '../errors.ts';
import { json, type RouteDescription } from '../route.ts';

const tag = 'Tickets and evidence';
const nonce = '0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0';
const ticket = 'AbHk3n0rT2…';
const expiresAt = '2026-11-21T08:05:00.000Z';

export const inferenceRoutes: readonly RouteDescription[] = [
  {
    method: 'post',
    path: '/v1/inference/tickets',
    operationId: 'createTicket',
    tag,
    summary: 'Get a ticket',
    description:
      'A single-use right to one request at the confidential origin. It binds model, provider policy and reasoning selection, and for media their settings: the request that redeems it must ask for the same. Content never belongs here: unknown fields are refused.',
    credentials: ['inferenceKey', 'accessToken'],
    body: { content: [json('TicketRequest', { model: 'demo/chat' })] },
    answers: [
      {
        status: 200,
        description: 'The ticket. `privacy_class` is the weakest class that the policy could reach.',
        content: [json('Ticket', { ticket, privacy_class: 'private', expires_at: expiresAt })],
      },
    ],
    errors: [
      ...anywhere,
      ...ofBodies,
      ...ofKeys,
      ...ofPlanning,
      'context_too_large',
      'insufficient_balance',
      'media_disabled',
    ],
  },
  {
    method: 'post',
    path: '/v1/inference/attestation-tickets',
    operationId: 'createAttestationTicket',
    tag,
    summary: 'Get an attestation ticket',
    description: 'A single-use right to evidence of the enclave that would serve this model. Free.',
    credentials: ['inferenceKey', 'accessToken'],
    body: { content: [json('AttestationTicketRequest', { model: 'acme/small', provider: 'acme' })] },
    answers: [
      {
        status: 200,
        description: 'The ticket, for `POST /v1/tee/attestation` at the confidential origin.',
        content: [json('AttestationTicket', { ticket, expires_at: expiresAt })],
      },
    ],
    errors: [...anywhere, ...ofBodies, ...ofKeys, ...ofPlanning],
  },
  {
    method: 'get',
    path: '/v1/tee/attestation',
    operationId: 'getProviderEvidence',
    tag,
    summary: "Evidence of a provider's enclave",
    description:
      'The same evidence as by attestation ticket at the confidential origin, which control asks for it. Free.',
    credentials: ['inferenceKey', 'accessToken'],
    query: {
      schema: teeAttestationQuerySchema,
      notes: {
        model: 'The model whose enclave is to be verified.',
        provider: 'Which of its providers; without it, the one that would serve.',
        nonce: { description: 'Exactly 64 hex digits, fresh for each verification.', example: nonce },
      },
    },
    answers: [{ status: 200, description: 'The evidence, made for this nonce.', content: [json('ProviderEvidence')] }],
    errors: [...anywhere, 'invalid_request', ...ofKeys, ...ofPlanning, 'invalid_ticket'],
  },
  {
    method: 'get',
    path: '/v1/tee/signature/{providerRequestId}',
    operationId: 'getProviderReceipt',
    tag,
    summary: "An enclave's own receipt of one answer",
    description:
      'Signed by the enclave after its answer has ended, and kept for an hour. Not every provider gives them.',
    credentials: ['inferenceKey', 'accessToken'],
    pathParameters: { providerRequestId: 'The header `x-router-provider-request-id` of the answer.' },
    answers: [{ status: 200, description: 'The receipt: hashes and a signature.', content: [json('ProviderReceipt')] }],
    errors: [...anywhere, ...ofKeys, 'not_found'],
  },
  {
    method: 'post',
    path: '/v1/tee/attestation',
    operationId: 'refuseProviderEvidenceByTicket',
    tag,
    summary: 'Not here',
    description: 'Always 404, and says where to go: by ticket, evidence is given at the confidential origin.',
    credentials: [],
    answers: [],
    errors: [...anywhere, 'not_found'],
  },
];
