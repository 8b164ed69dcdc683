import { type ErrorType, errorTable } from '@sotto/wire';
import { type ChatFailure, failureHeaders } from '../chat-failure.ts';
import type { WrittenAnswer } from '../translation.ts';

/** Anthropic's error types by status. Any other status is an `api_error`. */
const types: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  409: 'invalid_request_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  504: 'timeout_error',
};

/** Writes a failure as the Messages API does. `code` is ours: the stable name of the failure. */
export function errorBody(failure: ChatFailure) {
  const { status, code, requestId, param } = failure;
  const type = types[status] ?? 'api_error';
  const details = param === 'thread' ? { details: unthreaded } : {};
  return { type: 'error', error: { type, message: messageOf(failure), code, ...details }, request_id: requestId };
}

/** Tells Anthropic's SDK to go on without a thread. */
const unthreaded = { error_code: 'thread_unsupported_request', unsupported: ['thread'] };

/** Writes a failure as an answer with the headers that Anthropic's SDKs read. */
export const messagesFailure = (failure: ChatFailure): WrittenAnswer => ({
  status: failure.status,
  headers: { ...failureHeaders(failure), 'request-id': failure.requestId },
  body: JSON.stringify(errorBody(failure)),
});

/**
 * Claude Code shortens a conversation if the message says that the prompt is too long. It reads the two numbers to know
 * by how much. The names of the client's own failures stand first, so that users can look them up.
 */
function messageOf({ overflow, message, code }: ChatFailure): string {
  if (overflow !== undefined) {
    const { promptTokens, limit } = overflow;
    const isCounted = promptTokens !== undefined && limit !== undefined && promptTokens > limit;
    return isCounted
      ? `prompt is too long: ${promptTokens} tokens > ${limit} maximum`
      : `prompt is too long. ${message}`;
  }
  return isOfService(code) ? message : `${code}: ${message}`;
}

const isOfService = (code: string): code is ErrorType => Object.hasOwn(errorTable, code);
