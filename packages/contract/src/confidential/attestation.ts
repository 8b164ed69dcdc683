import { gatewayEvidenceSchema, providerEvidenceSchema } from '@sotto/attestation/documents';
import { nonceSchema } from '@sotto/wire';
import * as z from 'zod';
import { contracts } from '../contract.ts';
import { nonceNote } from '../route.ts';

/** Evidence about this broker. */
export const gatewayContracts = contracts({
  'GET /v1/gateway/attestation': {
    operationId: 'getGatewayEvidence',
    summary: 'Get evidence about this broker',
    description:
      'Verify the broker before you send content. The evidence is bound to your nonce. With `binding=channel` it is also bound to the TLS 1.3 connection of the request, and has `channel`. Without TLS 1.3 at the broker, `channel` is absent. The answer is 404 if the broker has no attestation.',
    credentials: [],
    openToPages: true,
    // A message about the nonce says how to make one.
    parsesQuery: true,
    query: z.strictObject({
      nonce: nonceSchema.meta(nonceNote),
      binding: z
        .literal('channel')
        .optional()
        .meta({ description: 'Asks for evidence that is bound to the connection of this request.' }),
    }),
    returns: 'The evidence, bound to your nonce.',
    answer: gatewayEvidenceSchema,
    errors: ['invalid_request', 'not_found', 'rate_limited', 'internal_error', 'service_unavailable'],
  },
});

/** Body of `POST /tee/attestation`. The ticket names the enclave. */
export const teeAttestationRequestSchema = z.strictObject({ nonce: nonceSchema });

/** Evidence about the enclaves of providers. */
export const teeContracts = contracts({
  'POST /v1/tee/attestation': {
    operationId: 'createProviderEvidence',
    summary: "Get evidence of a provider's enclave",
    description:
      'Fetched for this call and never stored. Free. Accepts attestation tickets only; another ticket stays valid.',
    credentials: ['attestationTicket'],
    body: teeAttestationRequestSchema,
    examples: { body: { nonce: nonceNote.example } },
    returns: 'The evidence, bound to your nonce.',
    answer: providerEvidenceSchema,
    errors: [
      'invalid_request',
      'payload_too_large',
      'unsupported_media_type',
      'ticket_required',
      'invalid_ticket',
      'model_not_found',
      'no_provider_route',
      'no_provider_route_meets_price',
      'no_provider_route_meets_privacy',
      'privacy_boundary_not_met',
      'rate_limited',
      'internal_error',
      'service_unavailable',
    ],
  },
  'GET /v1/tee/attestation': {
    operationId: 'refuseProviderEvidenceByKey',
    summary: 'Always 404',
    description: 'The message refers you to the control origin, which accepts keys for this.',
    credentials: [],
    openToPages: true,
    errors: ['not_found', 'internal_error', 'service_unavailable'],
  },
});
