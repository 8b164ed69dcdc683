import { type AttemptOutcome, outcomeOfStatus } from '@sotto/router';
import { parseJson } from '@sotto/wire';
import { asObject, asString, objectIn } from '../json.ts';
import { saysContextOverflow } from '../translate/context-overflow.ts';

/**
 * Classifies a failed answer. A 403 may concern the key or its permissions, and a 424 is a failure of the model. Only
 * the message distinguishes some of these cases. It is never passed on.
 *
 * @see https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html#API_runtime_Converse_Errors
 */
export function classifyFailure(status: number, body: Buffer): AttemptOutcome {
  if (status === 424) return 'server_error';
  const outcome = outcomeOfStatus(status) ?? 'malformed_answer';
  if (status !== 400 && status !== 403) return outcome;
  const raw = objectIn(body);
  const message = asString(raw?.message) ?? asString(raw?.Message) ?? '';
  if (status === 403)
    return /api key|security token|credential|signature/i.test(message) ? 'authentication_failed' : outcome;
  if (/content filtering policy/i.test(message)) return 'content_refused';
  return saysContextOverflow(message) ? 'context_exceeded' : outcome;
}

/** Outcomes of exceptions inside a stream, and with status 200, by Converse's own names. */
const exceptions: ReadonlyMap<string, AttemptOutcome> = new Map([
  ['internalServerException', 'server_error'],
  ['modelStreamErrorException', 'server_error'],
  ['serviceUnavailableException', 'server_error'],
  ['throttlingException', 'rate_limited'],
  ['modelTimeoutException', 'timeout'],
]);

/**
 * Classifies an exception inside a stream. It never reports a bad request, except a prompt that is too long: a provider
 * that started to answer has accepted the request otherwise.
 */
export function outcomeOfException(name: string | undefined, payload: string): AttemptOutcome {
  const message = asString(asObject(parseJson(payload))?.message);
  return exceptions.get(name ?? '') ?? (saysContextOverflow(message) ? 'context_exceeded' : 'malformed_answer');
}
