import { type AttemptOutcome, outcomeOfStatus } from '@sotto/router';
import { asObject, asString, type JsonObject, parseJson } from '../json.ts';
import { saysContextOverflow } from '../translate/context-overflow.ts';

/** Codes by which OpenAI-shaped providers say that they refuse the content rather than the form of a request. */
const refusalCodes = new Set([
  'content_filter',
  'content_policy_violation',
  'content_policy',
  'moderation_blocked',
  'data_inspection_failed',
]);

/** Reads a failed HTTP answer. The status decides, but a bad request may be a refused content or too long a prompt. */
export function classifyFailure(status: number, body: Buffer): AttemptOutcome {
  const outcome = outcomeOfStatus(status) ?? 'malformed_answer';
  if (outcome !== 'invalid_request' && outcome !== 'unprocessable') return outcome;
  const raw = asObject(parseJson(body.toString('utf8')));
  // Mistral, Cohere and older vLLM put the error's members at the top.
  const error = asObject(raw?.error) ?? raw;
  const code = asString(error?.code) ?? asString(error?.type);
  if (code !== undefined && refusalCodes.has(code)) return outcome === 'invalid_request' ? 'content_refused' : outcome;
  const message = asString(error?.message) ?? asString(raw?.error);
  return saysContextOverflow(message, code) ? 'context_exceeded' : outcome;
}

/** What an answer or an event reports as its error: its `error` member or, in vLLM's older form, the object itself. */
export const embeddedError = (raw: JsonObject): unknown => raw.error ?? (raw.object === 'error' ? raw : undefined);

/**
 * Reads an `error` object that came inside a 200 answer. Some gateways put the HTTP status into `code`; without one,
 * the answer is malformed. A bad request is not believed here: a provider that took the request has accepted it.
 */
export function classifyEmbeddedError(error: unknown): AttemptOutcome {
  const object = asObject(error);
  const code = object?.code ?? object?.status;
  const named = asString(code) ?? asString(object?.type);
  if (named !== undefined && refusalCodes.has(named)) return 'content_refused';
  if (named === 'rate_limit_exceeded' || named === 'rate_limit_error') return 'rate_limited';
  if (named === 'overloaded_error' || named === 'server_error') return 'server_error';
  const status = typeof code === 'number' ? code : Number(code);
  const outcome = Number.isInteger(status) && status >= 400 ? outcomeOfStatus(status) : undefined;
  return outcome === undefined || outcome === 'invalid_request' ? 'malformed_answer' : outcome;
}
