import { type ErrorType, errorTable } from '@sotto/wire';
import { describe, expect, it } from 'vitest';
import { brokenOff, type ChatFailure } from '../chat-failure.ts';
import { messagesFailure } from './errors.ts';

const failure = (more: Partial<ChatFailure>): ChatFailure => ({ ...brokenOff, requestId: 'req_1', ...more });
const written = (more: Partial<ChatFailure>) => {
  const { status, headers, body } = messagesFailure(failure(more));
  return { status, headers, body: JSON.parse(body) as { error: { type: string; message: string; code: string } } };
};

/** How Claude Code finds out by how much it must shorten a conversation. */
const claudeCode = /prompt is too long[^0-9]*(\d+)\s*tokens?\s*>\s*(\d+)/i;

describe('an error of the Messages API', () => {
  it('has Anthropic’s shape and headers', () => {
    expect(written({ status: 429, code: 'rate_limited', message: 'Wait.', mayRetry: true, retryAfter: '3' })).toEqual({
      status: 429,
      headers: {
        'content-type': 'application/json',
        'cache-control': 'no-store',
        'request-id': 'req_1',
        'retry-after': '3',
        'x-should-retry': 'true',
      },
      body: {
        type: 'error',
        error: { type: 'rate_limit_error', message: 'Wait.', code: 'rate_limited' },
        request_id: 'req_1',
      },
    });
  });

  it.each([
    ['invalid_request', 'invalid_request_error'],
    ['invalid_api_key', 'authentication_error'],
    ['insufficient_balance', 'billing_error'],
    ['no_provider_route_meets_privacy', 'permission_error'],
    ['model_not_found', 'not_found_error'],
    ['payload_too_large', 'request_too_large'],
    ['rate_limited', 'rate_limit_error'],
    ['service_unavailable', 'api_error'],
    ['provider_timeout', 'timeout_error'],
  ] as const)('%s is a %s', (code, type) => {
    expect(written({ code, status: errorTable[code].status }).body.error.type).toBe(type);
  });

  it('says how much too long a conversation is, as Claude Code reads it', () => {
    const overflow = { promptTokens: 150_000, limit: 84_000 };
    const { message } = written({ status: 400, code: 'context_too_large', overflow }).body.error;
    expect(message).toBe('prompt is too long: 150000 tokens > 84000 maximum');
    expect(claudeCode.exec(message)?.slice(1)).toEqual(['150000', '84000']);
  });

  it.each([
    { promptTokens: undefined, limit: undefined },
    { promptTokens: 10, limit: 20 },
  ])('says that a conversation is too long without numbers that it does not have: %j', (overflow) => {
    const { message } = written({ status: 400, code: 'context_too_large', message: 'Too long.', overflow }).body.error;
    expect(message).toBe('prompt is too long. Too long.');
  });

  it('lets Anthropic’s SDK go on without a thread', () => {
    const { error } = written({ status: 400, code: 'invalid_request', param: 'thread' }).body;
    expect(error).toMatchObject({ details: { error_code: 'thread_unsupported_request', unsupported: ['thread'] } });
  });

  it('names a failure that the client found, so that users can look it up', () => {
    expect(written({ code: 'attestation_untrusted', message: 'Not verified.' }).body.error.message).toBe(
      'attestation_untrusted: Not verified.',
    );
    for (const code of Object.keys(errorTable) as ErrorType[])
      expect(written({ code, message: 'Plain.' }).body.error.message).toBe('Plain.');
  });
});
