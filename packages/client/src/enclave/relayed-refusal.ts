import { type ErrorType, errorEnvelope, errorTable, parseJson } from '@sotto/wire';
import { answerFrom, failureInsteadOf, localId } from '../answer.ts';
import { readBounded } from '../bounded-body.ts';
import type { ContentAnswer } from '../gateway/platform.ts';

/** More than any refusal of the service has, in bytes, and the time in ms to read it. */
const maxRefusalBytes = 64 * 1024;
const refusalMs = 10_000;

/**
 * Rewrites a refusal of an encrypted request, by the broker or by control. It is not authenticated, and a program that
 * reads it takes it for the enclave's. So only its status and a type of our own table pass, with our own sentence. An
 * answer that is no error becomes a failure of the client.
 */
export async function relayedRefusal(answer: ContentAnswer): Promise<ContentAnswer> {
  // Agents shorten a conversation for 413, too.
  const status = answer.status === 413 ? 400 : answer.status;
  if (status < 400 || status > 599) {
    return failureInsteadOf(answer, 'e2ee_reply_not_encrypted');
  }
  const type = readType(status, await readText(answer)) ?? usualTypes.get(status) ?? typeOf(status);
  const message = type === 'invalid_request' ? refusedAsInvalid : errorTable[type].message;
  const headers = headersOf(answer, refusalForms);
  const envelope = errorEnvelope({ type, message }, headers['x-request-id'] ?? localId());
  return answerFrom(
    new Response(JSON.stringify(envelope), {
      status,
      headers: { ...headers, 'content-type': 'application/json', 'cache-control': 'no-store' },
    }),
  );
}

const refusedAsInvalid =
  'The service refused this request as invalid. The chat may be too long for the model: start a new one or lower `max_tokens`.';

/** The headers that describe any answer, each in a form that leaves little room for words of a relay. */
const commonForms: ReadonlyMap<string, RegExp> = new Map([
  ['x-request-id', /^req_[\w-]{12,24}$/],
  ...['limit', 'remaining', 'reset'].flatMap((part) =>
    ['requests', 'tokens'].map((what) => [`x-ratelimit-${part}-${what}`, /^[0-9hms.]{1,20}$/] as const),
  ),
]);
const refusalForms: ReadonlyMap<string, RegExp> = new Map([
  ...commonForms,
  ['retry-after', /^[0-9]{1,6}$/],
  ['x-should-retry', /^false$/],
]);
const replyForms: ReadonlyMap<string, RegExp> = new Map([
  ...commonForms,
  ['x-router-selected-model', /^[\w.:@/-]{1,256}$/],
  ['x-router-routing', /^(?:auto|exact)$/],
  ['x-router-provider', /^[a-z0-9/-]{1,128}$/],
  ['x-router-provider-attempts', /^[0-9]$/],
  ['x-router-provider-fallback', /^(?:true|false)$/],
  ['x-router-privacy-class', /^e2ee$/],
  ['x-router-provider-request-id', /^preq_[\w-]{12,32}$/],
]);

const headersOf = ({ headers }: ContentAnswer, forms: ReadonlyMap<string, RegExp>): Readonly<Record<string, string>> =>
  Object.fromEntries(headers.filter(([name, value]) => forms.get(name)?.test(value)));

/** The service's own headers of a reply, without those that describe the sealed body. */
export const replyHeaders = (answer: ContentAnswer): Readonly<Record<string, string>> => headersOf(answer, replyForms);

/** The types that each status stands for if the answer names none of ours. */
const usualTypes: ReadonlyMap<number, ErrorType> = new Map([
  [401, 'unauthenticated'],
  [402, 'insufficient_balance'],
  [403, 'no_provider_route_meets_privacy'],
  [404, 'model_not_found'],
  [408, 'request_timeout'],
  [409, 'conflict'],
  [429, 'rate_limited'],
  [500, 'internal_error'],
  [502, 'provider_error'],
  [504, 'provider_timeout'],
]);

const typeOf = (status: number): ErrorType => (status < 500 ? 'invalid_request' : 'service_unavailable');

/** Agents shorten a conversation when they read one of these, so a relay must not be able to say it. */
const shortening: ReadonlySet<string> = new Set<ErrorType>(['context_too_large', 'payload_too_large']);

/** Returns the type that a refusal names, if our table has it for this status. */
function readType(status: number, text: string): ErrorType | undefined {
  const { error } = (parseJson(text) ?? {}) as { readonly error?: { readonly type?: unknown } | null };
  const type = error?.type;
  if (typeof type !== 'string' || !Object.hasOwn(errorTable, type) || shortening.has(type)) return undefined;
  return errorTable[type as ErrorType].status === status ? (type as ErrorType) : undefined;
}

/** Reads the body of a refusal. One that is too large, too slow or breaks off reads as empty. */
async function readText({ body }: ContentAnswer): Promise<string> {
  const bytes = await readBounded(body, maxRefusalBytes, AbortSignal.timeout(refusalMs)).catch(() => undefined);
  return new TextDecoder().decode(bytes);
}
