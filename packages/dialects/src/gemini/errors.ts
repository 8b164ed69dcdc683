import { type ChatFailure, failureHeaders } from '../chat-failure.ts';
import type { WrittenAnswer } from '../translation.ts';

/** Google's names of errors by status. Any other status is `UNKNOWN`. */
const names: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  402: 'FAILED_PRECONDITION',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  409: 'ABORTED',
  413: 'INVALID_ARGUMENT',
  424: 'FAILED_PRECONDITION',
  429: 'RESOURCE_EXHAUSTED',
  500: 'INTERNAL',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
};

/** Writes a failure as Google's API does. The message begins with the stable name of the failure, which is ours. */
export function errorBody({ status, code, message, overflow, requestId, retryAfter }: ChatFailure): object {
  const isCounted = overflow?.promptTokens !== undefined && overflow.limit !== undefined;
  const says = isCounted
    ? `The input token count (${overflow.promptTokens}) exceeds the maximum number of tokens allowed (${overflow.limit}).`
    : message;
  const details = [
    { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: code, domain: 'sotto', metadata: { requestId } },
    ...(Number(retryAfter) > 0
      ? [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: `${Number(retryAfter)}s` }]
      : []),
  ];
  return { error: { code: status, message: `${code}: ${says}`, status: names[status] ?? 'UNKNOWN', details } };
}

/** Writes a failure as an answer. */
export const geminiFailure = (failure: ChatFailure): WrittenAnswer => ({
  status: failure.status,
  headers: failureHeaders(failure),
  body: JSON.stringify(errorBody(failure)),
});
