import { type AttemptOutcome, outcomeOfStatus } from '@sotto/router';
import { asObject, asString, parseJson } from '../json.ts';

/**
 * Reads a failed answer. A 400 says three things that are not the caller's doing, or not the form's, and only its words
 * tell them apart: the account has run dry, the content was refused. The words go no further than here.
 *
 * @see https://platform.claude.com/docs/en/api/errors
 */
export function classifyFailure(status: number, body: Buffer): AttemptOutcome {
  const outcome = outcomeOfStatus(status) ?? 'malformed_answer';
  if (outcome !== 'invalid_request') return outcome;
  const error = asObject(asObject(parseJson(body.toString('utf8')))?.error);
  const message = asString(error?.message) ?? '';
  if (/credit balance is too low/i.test(message)) return 'quota_exhausted';
  return /content filtering policy/i.test(message) ? 'content_refused' : outcome;
}

const outcomes: Readonly<Record<string, AttemptOutcome>> = {
  rate_limit_error: 'rate_limited',
  overloaded_error: 'server_error',
  api_error: 'server_error',
  timeout_error: 'timeout',
  authentication_error: 'authentication_failed',
  billing_error: 'quota_exhausted',
  permission_error: 'other_client_error',
  not_found_error: 'model_unavailable',
};

/**
 * Reads the `error` of an error event or body under status 200. A bad request is not believed there: a provider that
 * took the request has accepted it.
 */
export const classifyEmbedded = (error: unknown): AttemptOutcome =>
  outcomes[asString(asObject(error)?.type) ?? ''] ?? 'malformed_answer';
