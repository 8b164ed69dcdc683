import * as z from 'zod';
import { e2eeFamilies } from '../e2ee/relay-rules.ts';

/** Answer of `GET /tee/signature/:providerRequestId`: what an enclave signed of one answer, and what it was sent. */
export const providerReceiptSchema = z.strictObject({
  provider: z.string(),
  model: z.string(),
  family: z.enum(e2eeFamilies),
  /** Of the verified session that content went over; null where it was encrypted by the client. */
  session_id: z.string().nullable(),
  request_sha256: z.string(),
  response_sha256: z.string(),
  /** What was signed. */
  text: z.string(),
  signature: z.string(),
  signing_address: z.string(),
  signing_algo: z.enum(['ecdsa', 'ed25519']),
  signature_kind: z.string(),
});
