import { type ErrorType, errorTable, headerNames, sentStatus } from '@sotto/wire';
import type { StreamedError } from './chat-stream.ts';
import { asObject, asString, parseJson } from './json.ts';

/** A failure of the service or of the client, before a dialect writes it in its own words. */
export interface ChatFailure {
  /** The HTTP status for the caller. */
  readonly status: number;
  /** A type of the service's error table or a code of the client. Stable. */
  readonly code: string;
  readonly message: string;
  readonly param: string | undefined;
  readonly requestId: string;
  /** The header `retry-after`, if there was one. */
  readonly retryAfter: string | undefined;
  /** Whether a program may send the request again by itself. If not, it may have been charged, or stays wrong. */
  readonly mayRetry: boolean;
  /** Set if the conversation is too long for the model. Agents then shorten it. */
  readonly overflow: Overflow | undefined;
}

/** How long the conversation is, and how long it may be beside the requested output. Undefined if not known. */
export interface Overflow {
  readonly promptTokens: number | undefined;
  readonly limit: number | undefined;
}

interface FailedAnswer {
  readonly status: number;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: string;
}

/** Reads an answer whose status is not 200. */
export function readFailure({ status, headers, body }: FailedAnswer): ChatFailure {
  const header = (name: string): string | undefined => headers.find(([each]) => each === name)?.[1];
  const error = asObject(asObject(parseJson(body))?.error) ?? {};
  const code = asString(error.type) ?? 'service_unavailable';
  const message = asString(error.message) ?? `The service answered with status ${status}.`;
  const param = asString(error.param);
  const isRetried = status === 408 || status === 409 || status === 429 || status >= 500;
  const isForbidden = header('x-should-retry') === 'false';
  return {
    // Not every program reads `x-should-retry`, so a failure that must not be retried gets a status that none retries.
    status: isRetried && isForbidden ? sentStatus : status,
    code,
    message,
    param,
    requestId: asString(error.request_id) ?? header(headerNames.requestId) ?? 'unknown',
    retryAfter: header('retry-after'),
    mayRetry: isRetried && !isForbidden,
    overflow: overflowOf({ code, message, param }),
  };
}

/** The failure of a stream that ended before its answer did. */
export const brokenOff: ChatFailure = {
  status: 502,
  code: 'answer_lost',
  message: 'The answer broke off. It may have been charged: it is not repeated.',
  param: undefined,
  requestId: 'unknown',
  retryAfter: undefined,
  mayRetry: false,
  overflow: undefined,
};

/** The failure that an answer's last event reports. The answer may have been charged, so it is final. */
export function streamedFailure({ type: code, message, param, request_id: requestId }: StreamedError): ChatFailure {
  const told = { code, message, param: param ?? undefined };
  const status = errorTable[code as ErrorType]?.status ?? 502;
  return { ...brokenOff, ...told, status, requestId, overflow: overflowOf(told) };
}

/** The headers of a failure's answer that both dialects have. */
export const failureHeaders = ({ retryAfter, mayRetry }: ChatFailure): Readonly<Record<string, string>> => ({
  'content-type': 'application/json',
  'cache-control': 'no-store',
  ...(retryAfter === undefined ? {} : { 'retry-after': retryAfter }),
  'x-should-retry': String(mayRetry),
});

/** Reads the numbers of a `context_too_large`. An error about `max_tokens` alone is not an overflow. */
function overflowOf({ code, message, param }: Pick<ChatFailure, 'code' | 'message' | 'param'>): Overflow | undefined {
  if (code !== 'context_too_large' || param === 'max_tokens') return undefined;
  const [, prompt, output] = /about (\d+) prompt tokens plus (\d+) of output/.exec(message) ?? [];
  const [, context] = /maximum context length is (\d+) tokens/.exec(message) ?? [];
  const limit = context === undefined ? undefined : Number(context) - Number(output ?? 0);
  return {
    promptTokens: prompt === undefined ? undefined : Number(prompt),
    limit: limit === undefined ? undefined : Math.max(0, limit),
  };
}
