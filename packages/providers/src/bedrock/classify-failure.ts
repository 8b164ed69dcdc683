import { type AttemptOutcome, outcomeOfStatus } from '@sotto/router';
import { asObject, asString, parseJson } from '../json.ts';
import { saysContextOverflow } from '../translate/context-overflow.ts';

/**
 * Reads a failed answer. 403 is about our key as well as about what it may do, and 424 is a failure of the model's; only
 * the words tell some of it apart, and they go no further than here.
 *
 * @see https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html#API_runtime_Converse_Errors
 */
export function classifyFailure(status: number, body: Buffer): AttemptOutcome {
  if (status === 424) return 'server_error';
  const outcome = outcomeOfStatus(status) ?? 'malformed_answer';
  if (status !== 400 && status !== 403) return outcome;
  const raw = asObject(parseJson(body.toString('utf8')));
  const message = asString(raw?.message) ?? asString(raw?.Message) ?? '';
  if (status === 403)
    return /api key|security token|credential|signature/i.test(message) ? 'authentication_failed' : outcome;
  if (/content filtering policy/i.test(message)) return 'content_refused';
  return saysContextOverflow(message) ? 'context_exceeded' : outcome;
}

/** Exceptions inside a stream, and under status 200, by the names that Converse gives them. */
const exceptions: Readonly<Record<string, AttemptOutcome>> = {
  internalServerException: 'server_error',
  modelStreamErrorException: 'server_error',
  serviceUnavailableException: 'server_error',
  throttlingException: 'rate_limited',
  modelTimeoutException: 'timeout',
};

/** A bad request is not believed inside a stream: a provider that took the request has accepted it. */
export const outcomeOfException = (name: string | undefined): AttemptOutcome =>
  exceptions[name ?? ''] ?? 'malformed_answer';
