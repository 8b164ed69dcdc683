import { e2eeFamilies } from '@sotto/wire';
import * as z from 'zod';

/** Answer of `GET /tee/signature/:providerRequestId`: the text that an enclave signed about one answer. */
export const providerReceiptSchema = z.strictObject({
  provider: z.string(),
  model: z.string(),
  family: z.enum(e2eeFamilies),
  /** Id of the verified session that carried the content. Null if the client encrypted it. */
  session_id: z.string().nullable(),
  request_sha256: z.string(),
  response_sha256: z.string(),
  text: z.string(),
  signature: z.string(),
  signing_address: z.string(),
  signing_algo: z.enum(['ecdsa', 'ed25519']),
  signature_kind: z.string(),
});
