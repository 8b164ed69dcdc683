import { describe, expect, it } from 'vitest';
import { classifyFailure, embeddedFailure } from './classify-failure.ts';

const failed = (status: number, body: unknown = { error: { message: 'x' } }) =>
  classifyFailure(status, Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)));

describe('a failed answer', () => {
  it.each([
    [302, 'malformed_answer'],
    [400, 'invalid_request'],
    [401, 'authentication_failed'],
    [402, 'quota_exhausted'],
    [403, 'other_client_error'],
    [404, 'model_unavailable'],
    [408, 'timeout'],
    [409, 'other_client_error'],
    [413, 'unprocessable'],
    [422, 'unprocessable'],
    [429, 'rate_limited'],
    [500, 'server_error'],
    [503, 'server_error'],
    [529, 'server_error'],
  ])('with status %d is %s, whatever its body says', (status, outcome) => {
    const bodies = [{ error: { message: 'x' } }, '', '<html>', { error: 'x' }, [], { error: { code: 429 } }];
    for (const body of bodies) expect(failed(status, body)).toBe(outcome);
  });

  it.each(['content_filter', 'content_policy_violation', 'moderation_blocked', 'data_inspection_failed'])(
    'with status 400 and %s is a refusal of the content',
    (code) => {
      expect(failed(400, { error: { code, message: 'x' } })).toBe('content_refused');
      expect(failed(400, { error: { type: code, code: null } })).toBe('content_refused');
      expect(failed(500, { error: { code } })).toBe('server_error');
    },
  );
});

describe('an error inside a 200 answer', () => {
  it.each([
    [{ code: 429 }, 'rate_limited'],
    [{ code: '429' }, 'rate_limited'],
    [{ status: 503 }, 'server_error'],
    [{ code: 401 }, 'authentication_failed'],
    [{ code: 'rate_limit_exceeded' }, 'rate_limited'],
    [{ type: 'rate_limit_error' }, 'rate_limited'],
    [{ type: 'overloaded_error' }, 'server_error'],
    [{ type: 'server_error' }, 'server_error'],
    [{ code: 'content_filter' }, 'content_refused'],
    [{ message: 'x' }, 'malformed_answer'],
    [{ code: 200 }, 'malformed_answer'],
    [{ code: 7 }, 'malformed_answer'],
    [{ code: 'model_overloaded' }, 'malformed_answer'],
    ['x', 'malformed_answer'],
    [true, 'malformed_answer'],
    [[], 'malformed_answer'],
  ])('%j is %s', (error, outcome) => {
    expect(embeddedFailure({ error })).toBe(outcome);
  });

  it('is never a bad request: the provider accepted the request, so the next one is tried', () => {
    expect(embeddedFailure({ error: { code: 400 } })).toBe('malformed_answer');
    expect(embeddedFailure({ error: { code: '400', type: 'invalid_request_error' } })).toBe('malformed_answer');
  });

  it('is the `error` member, or the object itself', () => {
    expect(embeddedFailure({ object: 'error', code: 500 })).toBe('server_error');
    expect(embeddedFailure({ object: 'chat.completion', error: null })).toBeUndefined();
  });
});
