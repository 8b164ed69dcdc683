import * as z from 'zod';
import { modelIdSchema } from './chat-request.ts';
import { nonceSchema } from './nonce.ts';
import { providerIdSchema, providerPolicySchema } from './provider-policy.ts';

/** Body of `POST /inference/attestation-tickets` (interface 4.2, design 6): which enclave is to be verified. */
export const attestationTicketRequestSchema = z.strictObject({
  model: modelIdSchema,
  provider: providerPolicySchema.nullish(),
});
export type AttestationTicketRequest = z.infer<typeof attestationTicketRequestSchema>;

/** Body of `POST /tee/attestation`; the ticket says of what. */
export const teeAttestationRequestSchema = z.strictObject({ nonce: nonceSchema });

/** Query of `GET /tee/attestation` on the control origin: both of the above in one. */
export const teeAttestationQuerySchema = z.strictObject({
  model: modelIdSchema,
  provider: providerIdSchema.optional(),
  nonce: nonceSchema,
});
