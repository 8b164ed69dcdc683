import { type AttemptOutcome, outcomeOfStatus } from '@sotto/router';
import { asArray, asObject, asString, type JsonObject, parseJson } from '../json.ts';
import { saysContextOverflow } from '../translate/context-overflow.ts';

/**
 * Reads a failed answer. Some of what Google answers with 400 is about the account and not about the request: a key
 * that is not valid, and a project that may not do this or does not pay.
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

/** The `error` of a body, which streams that are not server-sent events put into an array. */
const errorOf = (body: unknown): JsonObject | undefined => asObject(asObject(asArray(body)?.[0] ?? body)?.error);

/** Reads an `error` under status 200. A bad request is not believed there: who took the request has accepted it. */
export function classifyEmbedded(error: unknown): AttemptOutcome {
  const code = asObject(error)?.code;
  const outcome = typeof code === 'number' && code >= 400 ? outcomeOfStatus(code) : undefined;
  return outcome === undefined || outcome === 'invalid_request' ? 'malformed_answer' : outcome;
}
