import { errorEnvelope, errorHeaders, type ServiceError, sentStatus } from '@sotto/wire';
import { secureRandom, toHex } from './e2ee/bytes.ts';
import { ClientError, type ClientErrorCode } from './errors.ts';
import type { ContentAnswer } from './gateway/platform.ts';

/** Wraps a `Response` as a `ContentAnswer`. */
export const answerFrom = (response: Response): ContentAnswer => ({
  status: response.status,
  headers: [...response.headers].filter(([name]) => !ofEncoding.has(name) || !response.headers.has('content-encoding')),
  get body() {
    return piecesOf(response);
  },
  toResponse: () => response,
});

/**
 * Drops `x-should-retry` from a refusal. The broker forbids a retry with the spent ticket, but an SDK above this client
 * may retry: each of its tries has its own ticket.
 */
export function withoutNoRetry({ body, status, headers }: Response): Response {
  const kept = new Headers(headers);
  kept.delete('x-should-retry');
  return new Response(body, { status, headers: kept });
}

/** `fetch` decodes a body but leaves the headers that describe the encoded one. */
const ofEncoding = new Set(['content-encoding', 'content-length']);

async function* piecesOf({ body }: Response): AsyncIterable<Uint8Array> {
  const reader = body?.getReader();
  if (reader === undefined) return;
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value;
  } finally {
    // A reader that stops early must also stop the sender.
    await reader.cancel();
  }
}

/** What comes after the request was sent: it may be charged. */
const sent = { status: sentStatus, retry: false } as const;
/** Statuses for failures of the client itself, and whether a retry can help. */
const statuses: Partial<Record<ClientErrorCode, { readonly status: number; readonly retry: boolean }>> = {
  attestation_unavailable: { status: 503, retry: true },
  confidential_unreachable: { status: 503, retry: true },
  control_unreachable: { status: 503, retry: true },
  inference_ticket_failed: { status: 502, retry: true },
  attestation_ticket_failed: { status: 502, retry: true },
  e2ee_relay_can_read: { status: 400, retry: false },
  answer_lost: sent,
  answer_redirected: sent,
  answer_too_large: sent,
  tool_call_unproven: sent,
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

/** Whether the same request fails again, whatever the service does. */
export const isFinal = (code: ClientErrorCode): boolean => statuses[code]?.status === 400;

/**
 * Turns a failure that the client found into an answer in the service's envelope. SDKs retry an error that `fetch`
 * throws, so a failure that must not be retried is returned as an answer.
 */
export function answerOfFailure(error: ClientError): Response {
  const { status, retry } = statuses[error.code] ?? { status: 502, retry: false };
  const { code: type, message, param } = error;
  return answer(status, errorEnvelope({ type, message, param }, localId()), retry ? {} : noRetry);
}

/** Discards an answer that the service never gives, and returns the client's own failure. */
export function failureInsteadOf({ body }: ContentAnswer, code: ClientErrorCode): ContentAnswer {
  void body[Symbol.asyncIterator]()
    .return?.()
    .catch(() => undefined);
  return answerFrom(answerOfFailure(new ClientError(code)));
}

/** Turns the refusal that the service would return into an answer. The request was not sent. */
export const answerOfRefusal = (error: ServiceError): Response =>
  answer(error.status, errorEnvelope(error, localId()), { ...errorHeaders(error), ...noRetry });

const noRetry = { 'x-should-retry': 'false' } as const;
/** Marks answers that this client wrote. */
export const localId = (): string => `local_${toHex(secureRandom(8))}`;

function answer(status: number, body: object, headers: Readonly<Record<string, string>>): Response {
  return new Response(JSON.stringify(body), {
    status,
    headers: { 'content-type': 'application/json', 'cache-control': 'no-store', ...headers },
  });
}
