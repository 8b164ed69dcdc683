import { describe, expect, it } from 'vitest';
import { errorEnvelope, errorHeaders, errorTable, ServiceError } from './errors.ts';
import { formatResetDuration } from './headers.ts';
import { parseModelReference } from './model-id.ts';

describe('the error table', () => {
  it('keeps the statuses that clients rely on', () => {
    const types: Record<number, readonly string[]> = {
      400: [
        'invalid_request',
        'missing_model',
        'invalid_provider_policy',
        'provider_policy_conflict',
        'no_provider_route',
        'no_provider_route_meets_price',
        'context_too_large',
      ],
      401: ['ticket_required', 'invalid_ticket', 'invalid_api_key', 'unauthenticated'],
      402: ['insufficient_balance'],
      403: [
        'insufficient_scope',
        'compatibility_access_disabled',
        'no_provider_route_meets_privacy',
        'privacy_boundary_not_met',
        'forbidden',
        'email_not_verified',
        'session_not_fresh',
      ],
      404: ['model_not_found', 'not_found'],
      405: ['method_not_allowed'],
      408: ['request_timeout'],
      409: [
        'conflict',
        'credits_spent',
        'top_up_limit',
        'ticket_model_mismatch',
        'ticket_reasoning_mismatch',
        'ticket_provider_policy_mismatch',
        'ticket_media_mismatch',
      ],
      413: ['payload_too_large'],
      415: ['unsupported_media_type'],
      429: ['rate_limited'],
      417: ['expectation_failed'],
      431: ['header_fields_too_large'],
      500: ['internal_error'],
      502: ['provider_error', 'rail_error'],
      503: [
        'rail_disabled',
        'media_disabled',
        'provider_fallback_exhausted',
        'provider_fallback_not_supported_for_e2ee',
        'service_unavailable',
      ],
      504: ['provider_timeout'],
    };
    const statuses = Object.entries(types).flatMap(([status, names]) => names.map((name) => [name, Number(status)]));
    expect(Object.fromEntries(Object.entries(errorTable).map(([type, { status }]) => [type, status]))).toEqual(
      Object.fromEntries(statuses),
    );
  });

  it('says of these alone that the same request may succeed later', () => {
    const said = Object.entries(errorTable).filter(([, { retryable }]) => retryable);
    expect(said.map(([type]) => type).sort()).toEqual([
      'provider_error',
      'provider_fallback_exhausted',
      'provider_timeout',
      'rate_limited',
      'request_timeout',
      'service_unavailable',
    ]);
  });

  it('writes an envelope without the status, with every field of OpenAI’s errors', () => {
    const error = new ServiceError('invalid_request', { message: '`n` must be 1.', param: 'n' });
    const type = 'invalid_request';
    const said = { message: '`n` must be 1.', type, code: type, request_id: 'req_1' };
    expect(errorEnvelope(error, 'req_1')).toEqual({ error: { ...said, param: 'n' } });
    const aboutNoField = new ServiceError('invalid_request', { message: '`n` must be 1.' });
    expect(errorEnvelope(aboutNoField, 'req_1')).toEqual({ error: { ...said, param: null } });
  });

  it('has OpenAI’s code for a conversation that is too long, and not for `max_tokens` alone', () => {
    const codeOf = (param?: string) => errorEnvelope(new ServiceError('context_too_large', { param }), 'r').error.code;
    expect([codeOf(), codeOf('messages'), codeOf('max_tokens')]).toEqual([
      'context_length_exceeded',
      'context_length_exceeded',
      'context_too_large',
    ]);
  });

  it('sends retry-after with every 503 of an unready service', () => {
    expect(errorHeaders(new ServiceError('service_unavailable'))).toEqual({ 'retry-after': '1' });
    expect(errorHeaders(new ServiceError('rate_limited', { retryAfterS: 2 }))).toEqual({ 'retry-after': '2' });
    expect(errorHeaders(new ServiceError('rate_limited', { retryAfterS: 1.5 }))).toEqual({
      'retry-after': '2',
      'retry-after-ms': '1500',
    });
    expect(errorHeaders(new ServiceError('provider_timeout', { mustNotRetry: true }))).toEqual({
      'x-should-retry': 'false',
    });
  });
});

describe('formatResetDuration', () => {
  it.each([
    [0, '0s'],
    [-5, '0s'],
    [350, '350ms'],
    [1000, '1s'],
    [59_000, '59s'],
    [360_000, '6m0s'],
  ])('%d → %s', (ms, text) => {
    expect(formatResetDuration(ms)).toBe(text);
  });
});

describe('parseModelReference', () => {
  it.each([
    ['acme/small', { id: 'acme/small' }],
    ['acme/small:nitro', { id: 'acme/small', suffix: 'nitro' }],
    ['acme/small:floor', { id: 'acme/small', suffix: 'floor' }],
    ['acme/small:free', { id: 'acme/small:free' }],
    ['/auto', { id: '/auto' }],
  ])('%s', (requested, reference) => {
    expect(parseModelReference(requested)).toEqual(reference);
  });
});
