import { type AttemptOutcome, outcomeOfStatus } from '@sotto/router';
import { asObject, asString, type JsonObject, objectIn } from '../json.ts';
import { saysContextOverflow } from '../translate/context-overflow.ts';

/** Codes of OpenAI-shaped providers for a refusal of the content rather than the form of a request. */
const refusalCodes = new Set([
  'content_filter',
  'content_policy_violation',
  'content_policy',
  'moderation_blocked',
  'data_inspection_failed',
]);

/**
 * Classifies a failed HTTP answer by its status. A bad request may also be a refused content or a prompt that is too
 * long.
 */
export function classifyFailure(status: number, body: Buffer): AttemptOutcome {
  const outcome = outcomeOfStatus(status) ?? 'malformed_answer';
  if (!isBadRequest(outcome)) return outcome;
  const raw = objectIn(body);
  // Mistral, Cohere and older vLLM put the error's members at the top level.
  const error = asObject(raw?.error) ?? raw;
  const code = asString(error?.code) ?? asString(error?.type);
  if (code !== undefined && refusalCodes.has(code)) return outcome === 'invalid_request' ? 'content_refused' : outcome;
  const message = messageOf(error) ?? asString(raw?.error) ?? asString(raw?.detail);
  return saysContextOverflow(message, code) || saysContextOverflow(undefined, error?.type)
    ? 'context_exceeded'
    : outcome;
}

const isBadRequest = (outcome: AttemptOutcome): boolean => outcome === 'invalid_request' || outcome === 'unprocessable';

/** The message of an error. Some servers call it `detail`, or nest the provider's own error as text. */
const messageOf = (error: JsonObject | undefined): string | undefined =>
  asString(error?.message) ?? asString(error?.detail) ?? asString(asObject(error?.message)?.message);

/**
 * Returns the failure that an answer or an event with status 200 reports: in its `error` member or, in vLLM's older
 * form, as the object itself. Some gateways put the HTTP status into `code`. Without a known code or type, the answer
 * is malformed. It never reports a bad request, except a prompt that is too long: a provider that started to answer has
 * accepted the request otherwise.
 */
export function embeddedFailure(raw: JsonObject): AttemptOutcome | undefined {
  const error = raw.error ?? (raw.object === 'error' ? raw : undefined);
  if (error === undefined) return undefined;
  const object = asObject(error);
  const code = object?.code ?? object?.status;
  const named = asString(code) ?? asString(object?.type);
  if (named !== undefined && refusalCodes.has(named)) return 'content_refused';
  if (named === 'rate_limit_exceeded' || named === 'rate_limit_error') return 'rate_limited';
  if (named === 'overloaded_error' || named === 'server_error') return 'server_error';
  const status = typeof code === 'number' ? code : Number(code);
  const outcome = Number.isInteger(status) && status >= 400 && status < 600 ? outcomeOfStatus(status) : undefined;
  if (outcome !== undefined && !isBadRequest(outcome)) return outcome;
  return saysContextOverflow(messageOf(object) ?? asString(error), named ?? object?.type)
    ? 'context_exceeded'
    : outcome === 'unprocessable'
      ? outcome
      : 'malformed_answer';
}
