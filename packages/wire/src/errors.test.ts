import { describe, expect, it } from 'vitest';
import { errorEnvelope, errorHeaders, errorTable, ServiceError } from './errors.ts';
import { formatResetDuration } from './headers.ts';
import { parseModelReference } from './model-id.ts';

describe('the error table', () => {
  it('keeps the statuses that clients rely on', () => {
    const statuses: Record<string, number> = {
      invalid_request: 400,
      missing_model: 400,
      invalid_provider_policy: 400,
      provider_policy_conflict: 400,
      no_provider_route: 400,
      no_provider_route_meets_price: 400,
      context_too_large: 400,
      ticket_required: 401,
      invalid_ticket: 401,
      invalid_api_key: 401,
      insufficient_balance: 402,
      insufficient_scope: 403,
      no_provider_route_meets_privacy: 403,
      privacy_boundary_not_met: 403,
      model_not_found: 404,
      ticket_model_mismatch: 409,
      ticket_reasoning_mismatch: 409,
      ticket_provider_policy_mismatch: 409,
      rate_limited: 429,
      media_disabled: 503,
      provider_fallback_exhausted: 503,
      provider_fallback_not_supported_for_e2ee: 503,
    };
    for (const [type, status] of Object.entries(statuses)) {
      expect(errorTable[type as keyof typeof errorTable], type).toMatchObject({ status });
    }
  });

  it('writes an envelope without the status, with every field of OpenAI’s errors', () => {
    const error = new ServiceError('invalid_request', { message: '`n` must be 1.', param: 'n' });
    const type = 'invalid_request';
    const said = { message: '`n` must be 1.', type, code: type, request_id: 'req_1' };
    expect(errorEnvelope(error, 'req_1')).toEqual({ error: { ...said, param: 'n' } });
    const aboutNoField = new ServiceError('invalid_request', { message: '`n` must be 1.' });
    expect(errorEnvelope(aboutNoField, 'req_1')).toEqual({ error: { ...said, param: null } });
  });

  it('sends retry-after with every 503 of an unready service', () => {
    expect(errorHeaders(new ServiceError('service_unavailable'))).toEqual({ 'retry-after': '1' });
    expect(errorHeaders(new ServiceError('rate_limited', { retryAfterS: 2.2 }))).toEqual({ 'retry-after': '3' });
    expect(errorHeaders(new ServiceError('provider_timeout', { ambiguous: true }))).toEqual({
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
