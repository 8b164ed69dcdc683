import { errorEnvelope, errorTable, ServiceError } from '@sotto/wire';
import { describe, expect, it } from 'vitest';
import { readFailure, streamedFailure } from './chat-failure.ts';

const refused = (
  type: keyof typeof errorTable,
  more: { message?: string; param?: string; headers?: [string, string][] } = {},
) =>
  readFailure({
    status: errorTable[type].status,
    headers: more.headers ?? [],
    body: JSON.stringify(errorEnvelope(new ServiceError(type, more), 'req_1')),
  });

const noRetry: [string, string] = ['x-should-retry', 'false'];

describe('a failure', () => {
  it('keeps what the service said of it', () => {
    expect(refused('invalid_request', { message: 'No.', param: 'messages.0' })).toMatchObject({
      status: 400,
      code: 'invalid_request',
      message: 'No.',
      param: 'messages.0',
      requestId: 'req_1',
      mayRetry: false,
      overflow: undefined,
    });
  });

  it('may be retried if the service allows it: a rate limit, with its pause, and a service that starts', () => {
    const limited = refused('rate_limited', { headers: [['retry-after', '7']] });
    expect(limited).toMatchObject({ status: 429, mayRetry: true, retryAfter: '7' });
    expect(refused('service_unavailable')).toMatchObject({ status: 503, mayRetry: true });
    expect(refused('insufficient_balance')).toMatchObject({ status: 402, mayRetry: false });
  });

  it.each(['provider_error', 'provider_timeout', 'conflict', 'rate_limited'] as const)(
    'that must not be retried gets a status that no program retries: %s',
    (type) => {
      expect(refused(type, { headers: [noRetry] })).toMatchObject({ status: 424, mayRetry: false, code: type });
    },
  );

  it('without an envelope is told by its status', () => {
    expect(readFailure({ status: 500, headers: [['x-request-id', 'up_1']], body: '<html>' })).toMatchObject({
      code: 'service_unavailable',
      message: 'The service answered with status 500.',
      requestId: 'up_1',
    });
  });
});

describe('an overflow', () => {
  const counted =
    "This model's maximum context length is 100000 tokens at eligible providers of acme/small. The request has about 150000 prompt tokens plus 16000 of output.";

  it('tells how long the prompt is and how long it may be beside the output', () => {
    expect(refused('context_too_large', { message: counted }).overflow).toEqual({
      promptTokens: 150_000,
      limit: 84_000,
    });
  });

  it('may come without numbers', () => {
    expect(refused('context_too_large').overflow).toEqual({ promptTokens: undefined, limit: undefined });
  });

  it('is none where the requested output alone is too large: a shorter conversation would not help', () => {
    const message = '`max_tokens` is 32000; eligible providers of acme/small allow at most 4096.';
    expect(refused('context_too_large', { message, param: 'max_tokens' }).overflow).toBeUndefined();
  });
});

it('a failure within a stream is final: the answer may have been charged', () => {
  const error = { type: 'rate_limited', code: 'rate_limited', message: 'Slow.', param: null, request_id: 'r' };
  expect(streamedFailure(error as never)).toMatchObject({ status: 429, code: 'rate_limited', mayRetry: false });
});
