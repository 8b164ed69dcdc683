import { type ChatFailure, failureHeaders } from '../chat-failure.ts';
import type { Translation, WrittenAnswer } from '../translation.ts';

/**
 * Writes a failure as an answer. Codex runs a turn again after any status but 400 and 429, and knows an overflow by an
 * event alone. So a failure that it must not repeat becomes a stream that fails at once, as does a rate limit, whose
 * event tells Codex how long to wait.
 */
export function responsesFailure(
  failure: ChatFailure,
  { isCodex, translation }: { readonly isCodex: boolean; readonly translation: Translation | undefined },
): WrittenAnswer {
  const headers = { ...failureHeaders(failure), 'x-request-id': failure.requestId };
  if (isCodex && translation?.body.stream === true && (!failure.mayRetry || failure.status === 429)) {
    const body = translation.stream().fail(failure);
    return { status: 200, headers: { ...headers, 'content-type': 'text/event-stream' }, body };
  }
  const error = { ...openAiError(failure), request_id: failure.requestId };
  return { status: failure.status, headers, body: JSON.stringify({ error }) };
}

/** An error as OpenAI's clients read it. */
export interface OpenAiError {
  readonly type: string;
  readonly code: string;
  readonly message: string;
  readonly param: string | null;
}

/** OpenAI's codes for failures that its clients look for. The other codes stay ours, as in chat completions. */
const codes: Readonly<Record<string, string>> = {
  context_too_large: 'context_length_exceeded',
  insufficient_balance: 'insufficient_quota',
  rate_limited: 'rate_limit_exceeded',
};

export function openAiError({ code, message, param, overflow }: ChatFailure): OpenAiError {
  const isOther = code === 'context_too_large' && overflow === undefined;
  const isUnkept = param === 'previous_response_id';
  const known = isUnkept ? 'previous_response_not_found' : isOther ? code : (codes[code] ?? code);
  return { type: code, code: known, message, param: param ?? null };
}

/**
 * The error of a streamed response for Codex. Codex runs a turn again after every code that it does not know, up to five
 * times, and each time could be charged. So what must not be repeated gets the code `invalid_prompt`, whose message
 * Codex shows, and a rate limit says when to come back.
 */
export function codexError(failure: ChatFailure): OpenAiError {
  const error = openAiError(failure);
  if (error.code === 'context_length_exceeded' || error.code === 'insufficient_quota') return error;
  if (!failure.mayRetry) return { ...error, code: 'invalid_prompt', message: `${failure.code}: ${failure.message}` };
  if (failure.status !== 429) return error;
  const seconds = Number(failure.retryAfter) || 1;
  return { ...error, code: 'rate_limit_exceeded', message: `${failure.message} Please try again in ${seconds}s.` };
}
