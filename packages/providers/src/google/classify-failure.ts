import { type AttemptOutcome, outcomeOfStatus } from '@sotto/router';
import { parseJson } from '@sotto/wire';
import { asArray, asObject, asString, type JsonObject } from '../json.ts';
import { saysContextOverflow } from '../translate/context-overflow.ts';

/**
 * Classifies a failed answer. Some 400s of Google concern the account rather than the request: an invalid key, or a
 * project without permission or billing.
 *
 * @see https://ai.google.dev/gemini-api/docs/troubleshooting
 */
export function classifyFailure(status: number, body: Buffer): AttemptOutcome {
  const outcome = outcomeOfStatus(status) ?? 'malformed_answer';
  if (outcome !== 'invalid_request') return outcome;
  const error = errorOf(parseJson(body.toString('utf8')));
  const reasons = (asArray(error?.details) ?? []).map((detail) => asObject(detail)?.reason);
  if (reasons.includes('API_KEY_INVALID')) return 'authentication_failed';
  if (error?.status === 'FAILED_PRECONDITION') return 'other_client_error';
  return saysContextOverflow(asString(error?.message)) ? 'context_exceeded' : outcome;
}

/** Returns the `error` of a body. Streams that are not server-sent events wrap it in an array. */
const errorOf = (body: unknown): JsonObject | undefined => asObject(asObject(asArray(body)?.[0] ?? body)?.error);

/**
 * Classifies an `error` with status 200. It never reports a bad request, except a prompt that is too long: a provider that
 * started to answer has accepted the request otherwise.
 */
export function classifyEmbedded(error: unknown): AttemptOutcome {
  const code = asObject(error)?.code;
  const outcome = typeof code === 'number' && code >= 400 ? outcomeOfStatus(code) : undefined;
  if (outcome !== undefined && outcome !== 'invalid_request') return outcome;
  return saysContextOverflow(asString(asObject(error)?.message)) ? 'context_exceeded' : 'malformed_answer';
}
