import { type ErrorType, errorEnvelope, errorTable, parseJson } from '@sotto/wire';
import { answerFrom, answerOfFailure, localId } from '../answer.ts';
import { ClientError } from '../errors.ts';
import type { ContentAnswer } from '../gateway/platform.ts';

/** More than any refusal of the service has, in bytes. */
const maxRefusalBytes = 64 * 1024;

/**
 * Rewrites an answer of the broker to an encrypted request that is not the enclave's reply. Nobody authenticates such an
 * answer, and a program that reads it takes it for the enclave's. So only its status and a type of our own table pass,
 * with our own sentence. A status that is no error is a failure of the client.
 */
export async function relayedRefusal(answer: ContentAnswer): Promise<ContentAnswer> {
  const { status } = answer;
  if (status < 400 || status > 599) {
    await answer.toResponse().body?.cancel();
    return answerFrom(answerOfFailure(new ClientError('e2ee_reply_not_encrypted')));
  }
  const type = readType(status, await readStart(answer)) ?? typeOf(status);
  const message = type === 'invalid_request' ? refusedAsInvalid : errorTable[type].message;
  const headers = Object.fromEntries(answer.headers.filter(([name, value]) => forms[name]?.test(value)));
  const envelope = errorEnvelope({ type, message }, headers['x-request-id'] ?? localId());
  return answerFrom(
    new Response(JSON.stringify(envelope), {
      status,
      headers: { ...headers, 'content-type': 'application/json', 'cache-control': 'no-store' },
    }),
  );
}

const refusedAsInvalid =
  'The service refused the encrypted request as invalid. It may be too long for the model. Start a new conversation or lower `max_tokens`.';

/** The headers of a refusal that pass, each in a form that leaves no room for text. */
const forms: Readonly<Record<string, RegExp>> = {
  'retry-after': /^[0-9]{1,6}$/,
  'x-request-id': /^[\w-]{1,64}$/,
  'x-should-retry': /^false$/,
  ...Object.fromEntries(
    ['limit', 'remaining', 'reset'].flatMap((part) =>
      ['requests', 'tokens'].map((what) => [`x-ratelimit-${part}-${what}`, /^[0-9hms.]{1,20}$/]),
    ),
  ),
};

/** The types that each status stands for if the answer names none of ours. */
const usualTypes: Readonly<Record<number, ErrorType>> = {
  401: 'invalid_ticket',
  402: 'insufficient_balance',
  403: 'no_provider_route_meets_privacy',
  404: 'model_not_found',
  408: 'request_timeout',
  409: 'conflict',
  413: 'payload_too_large',
  415: 'unsupported_media_type',
  429: 'rate_limited',
  431: 'header_fields_too_large',
  500: 'internal_error',
  502: 'provider_error',
  504: 'provider_timeout',
};

const typeOf = (status: number): ErrorType =>
  usualTypes[status] ?? (status < 500 ? 'invalid_request' : 'service_unavailable');

/**
 * Returns the type that a refusal names, if our table has it for this status. Agents shorten a conversation when the
 * context overflows, so a relay must not be able to say that it did.
 */
function readType(status: number, text: string): ErrorType | undefined {
  const { error } = (parseJson(text) ?? {}) as { readonly error?: { readonly type?: unknown } | null };
  const type = error?.type;
  if (typeof type !== 'string' || !Object.hasOwn(errorTable, type) || type === 'context_too_large') return undefined;
  return errorTable[type as ErrorType].status === status ? (type as ErrorType) : undefined;
}

/** Reads as much of a body as a refusal can have, and drops the rest. A body that breaks off reads as far as it came. */
async function readStart({ body }: ContentAnswer): Promise<string> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  try {
    for await (const piece of body) {
      pieces.push(piece);
      length += piece.length;
      if (length > maxRefusalBytes) return '';
    }
  } catch {
    return '';
  }
  return new TextDecoder().decode(new Uint8Array(await new Blob(pieces as BlobPart[]).arrayBuffer()));
}
