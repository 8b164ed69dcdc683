import { errorEnvelope, errorHeaders, type ServiceError } from '@sotto/wire';
import { secureRandom, toHex } from './e2ee/bytes.ts';
import type { ClientError, ClientErrorCode } from './errors.ts';

/**
 * What was sent, and may have been charged: a status that no client tries again by itself. Many do so at any 5xx, and know
 * nothing of `x-should-retry`.
 */
const sent = { status: 424, retry: false } as const;
/** Statuses for failures of our own where HTTP is spoken. Those that trying again can cure are told so. */
const statuses: Partial<Record<ClientErrorCode, { readonly status: number; readonly retry: boolean }>> = {
  attestation_unavailable: { status: 503, retry: true },
  confidential_unreachable: { status: 503, retry: true },
  control_unreachable: { status: 503, retry: true },
  inference_ticket_failed: { status: 502, retry: true },
  attestation_ticket_failed: { status: 502, retry: true },
  answer_lost: sent,
  retry_refused: { status: 409, retry: false },
  e2ee_reply_not_encrypted: sent,
  e2ee_reply_malformed: sent,
  e2ee_reply_too_large: sent,
  e2ee_reply_out_of_order: sent,
  e2ee_reply_truncated: sent,
  e2ee_decryption_failed: sent,
  e2ee_provider_failed: sent,
  e2ee_request_invalid: { status: 400, retry: false },
  e2ee_request_unsupported: { status: 400, retry: false },
};

/**
 * A failure that the client found, as an answer in the service's envelope. SDKs retry what a `fetch` throws; what must
 * not be retried is therefore answered.
 */
export function answerOfFailure(error: ClientError): Response {
  const { status, retry } = statuses[error.code] ?? { status: 502, retry: false };
  const { code: type, message, param } = error;
  return answer(status, errorEnvelope({ type, message, param }, localId()), retry ? {} : noRetry);
}

/** A request that the service would refuse, refused here: it was not sent anywhere. */
export const answerOfRefusal = (error: ServiceError): Response =>
  answer(error.status, errorEnvelope(error, localId()), { ...errorHeaders(error), ...noRetry });

const noRetry = { 'x-should-retry': 'false' } as const;
/** Marks what was answered on this side. */
const localId = (): string => `local_${toHex(secureRandom(8))}`;

function answer(status: number, body: object, headers: Readonly<Record<string, string>>): Response {
  return new Response(JSON.stringify(body), {
    status,
    headers: { 'content-type': 'application/json', 'cache-control': 'no-store', ...headers },
  });
}
