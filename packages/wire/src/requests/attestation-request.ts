import * as z from 'zod';
import { modelIdSchema } from './chat-request.ts';
import { nonceSchema } from './nonce.ts';
import { providerPolicySchema } from './provider-policy.ts';

/** Body of `POST /inference/attestation-tickets` (interface 4.2, design 6): which enclave is to be verified. */
export const attestationTicketRequestSchema = z.strictObject({
  model: modelIdSchema,
  provider: providerPolicySchema.nullish(),
});
export type AttestationTicketRequest = z.infer<typeof attestationTicketRequestSchema>;

/** Body of `POST /tee/attestation`; the ticket says of what. */
export const teeAttestationRequestSchema = z.strictObject({ nonce: nonceSchema });
