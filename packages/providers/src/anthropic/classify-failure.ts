import { type AttemptOutcome, outcomeOfStatus } from '@sotto/router';
import { asObject, asString, objectIn } from '../json.ts';
import { saysContextOverflow } from '../translate/context-overflow.ts';

/**
 * Classifies a failed answer. Only the message of a 400 distinguishes a malformed request from an account without
 * credit, a refused content, and a prompt that is too long. The message itself is never passed on.
 *
 * @see https://platform.claude.com/docs/en/api/errors
 */
export function classifyFailure(status: number, body: Buffer): AttemptOutcome {
  const outcome = outcomeOfStatus(status) ?? 'malformed_answer';
  if (outcome !== 'invalid_request') return outcome;
  const error = asObject(objectIn(body)?.error);
  const message = asString(error?.message) ?? '';
  if (/credit balance is too low/i.test(message)) return 'quota_exhausted';
  if (/content filtering policy/i.test(message)) return 'content_refused';
  return saysContextOverflow(message) ? 'context_exceeded' : outcome;
}

const outcomes: ReadonlyMap<string, AttemptOutcome> = new Map([
  ['rate_limit_error', 'rate_limited'],
  ['overloaded_error', 'server_error'],
  ['api_error', 'server_error'],
  ['timeout_error', 'timeout'],
  ['authentication_error', 'authentication_failed'],
  ['billing_error', 'quota_exhausted'],
  ['permission_error', 'other_client_error'],
  ['not_found_error', 'model_unavailable'],
]);

/**
 * Classifies the `error` of an error event or of a body with status 200. It never reports a bad request, except a prompt
 * that is too long: a provider that started to answer has accepted the request otherwise.
 */
export function classifyEmbedded(error: unknown): AttemptOutcome {
  const { type, message } = asObject(error) ?? {};
  const known = outcomes.get(asString(type) ?? '');
  return known ?? (saysContextOverflow(asString(message)) ? 'context_exceeded' : 'malformed_answer');
}
