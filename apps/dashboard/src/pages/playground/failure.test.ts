import { errorTable } from '@sotto/wire';
import { expect, it } from 'vitest';
import { ApiError } from '../../api/errors.ts';
import { adviseOn, rowOf } from './failure.tsx';

const errorOf = (type: string, retryAfterS?: number, message = 'It failed.'): ApiError =>
  new ApiError(message, { type, status: 400, requestId: 'req', param: undefined, retryAfterS });

it('says what to do about every failure of a request that somebody can do something about', () => {
  const asked = [
    ...([
      'insufficient_balance',
      'no_provider_route',
      'no_provider_route_meets_privacy',
      'privacy_boundary_not_met',
    ] as const),
    ...(['no_provider_route_meets_price', 'context_too_large', 'rate_limited', 'media_disabled'] as const),
    ...(['provider_error', 'provider_timeout', 'provider_fallback_exhausted', 'invalid_api_key'] as const),
    ...(['provider_fallback_not_supported_for_e2ee', 'compatibility_access_disabled', 'model_not_found'] as const),
  ];
  for (const type of asked) {
    expect(errorTable[type], type).toBeDefined();
    expect(adviseOn(errorOf(type)), type).toBeDefined();
  }
  expect(adviseOn(errorOf('insufficient_balance'))?.link?.to).toBe('/billing');
  expect(adviseOn(errorOf('privacy_boundary_not_met'))?.link?.to).toBe('/routing');
});

it('leads to what refused the money: balance, budget or key', () => {
  const at = (message: string) => adviseOn(errorOf('insufficient_balance', undefined, message))?.link?.to;
  expect(at('Nothing is left of the workspace’s budget until 2026-12-01 00:00 UTC.')).toBe('/budgets');
  expect(at('The request needs 0.2 USD, and 0.1 USD is left of the limit of the key.')).toBe('/keys');
  expect(at('The balance is used up: 0 USD is available.')).toBe('/billing');
});

it('never advises to send content to a broker that failed its check', () => {
  for (const type of ['attestation_untrusted', 'attestation_unavailable', 'nonce_mismatch']) {
    const advice = adviseOn(errorOf(type));
    expect(advice).toMatchObject({ link: { to: '/verify' }, text: expect.stringMatching(/^Do not send/) });
    expect(advice?.text).not.toContain('compatibility');
  }
});

it('says when to come back', () => {
  expect(adviseOn(errorOf('rate_limited', 7))?.text).toBe('Try again in 7 seconds.');
  expect(adviseOn(errorOf('something_new', 1))?.text).toBe('Try again in 1 second.');
  expect(adviseOn(errorOf('invalid_request'))).toBeUndefined();
  expect(adviseOn(new Error('x'))).toBeUndefined();
});

it('leads to the row of the reference about an error, and nowhere for errors that only this page knows', () => {
  expect(rowOf('rate_limited')).toBe('types-rate_limited');
  expect(rowOf('nonce_mismatch')).toBe('errors-of-the-private-client-nonce_mismatch');
  expect(rowOf('incomplete')).toBeUndefined();
  expect(rowOf('command_ended')).toBeUndefined();
});
