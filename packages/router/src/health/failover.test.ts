import { errorTable } from '@sotto/wire';
import { describe, expect, it } from 'vitest';
import {
  type AttemptOutcome,
  attemptErrorOf,
  failoverTable,
  nextStep,
  outcomeOfStatus,
  providerStatusOf,
} from './failover.ts';

/** The failover rules (docs/concepts/routing.md) and the answer of a request that tried one provider, side by side. */
const rows: [
  said: string,
  outcome: AttemptOutcome,
  next: boolean,
  penalty: string,
  status: number,
  type: string,
  retry: string,
][] = [
  ['429', 'rate_limited', true, 'route', 429, 'rate_limited', 'helps'],
  ['5xx', 'server_error', true, 'route', 502, 'provider_error', 'helps'],
  ['timeout', 'timeout', true, 'route', 504, 'provider_timeout', 'may_pay_twice'],
  ['network failure', 'network_failure', true, 'route', 502, 'provider_error', 'may_pay_twice'],
  ['malformed or incomplete response', 'malformed_answer', true, 'route', 502, 'provider_error', 'may_pay_twice'],
  ['404', 'model_unavailable', true, 'route', 502, 'provider_error', 'in_vain'],
  ['401', 'authentication_failed', true, 'provider', 502, 'provider_error', 'in_vain'],
  ['402', 'quota_exhausted', true, 'provider', 502, 'provider_error', 'in_vain'],
  ['400', 'invalid_request', false, 'none', 400, 'invalid_request', 'in_vain'],
  ['413 and 422', 'unprocessable', true, 'none', 400, 'invalid_request', 'in_vain'],
  ['403 and 409', 'other_client_error', true, 'none', 502, 'provider_error', 'in_vain'],
  ['content-policy refusal', 'content_refused', false, 'none', 400, 'invalid_request', 'in_vain'],
  ['400: too long for the context', 'context_exceeded', false, 'none', 400, 'context_too_large', 'in_vain'],
  ['an enclave that could not be verified', 'attestation_failed', true, 'route', 502, 'provider_error', 'helps'],
];

describe('failoverTable', () => {
  it('has a row for every outcome', () => {
    expect(Object.keys(failoverTable).sort()).toEqual(rows.map(([, outcome]) => outcome).sort());
  });

  it.each(rows)('after %s (%s) the next provider is tried: %s; penalty: %s', (...row) => {
    const [, outcome, next, penalty, , , retry] = row;
    expect(failoverTable[outcome]).toMatchObject({ triesNext: next, penalizes: penalty, retry });
  });
});

it.each(rows)('after %s (%s) and another attempt, a row has one of three classes', (_, outcome) => {
  const own = { timeout: 'timeout', rate_limited: 'rate_limit' } as Partial<Record<AttemptOutcome, string>>;
  expect(attemptErrorOf(outcome)).toBe(own[outcome] ?? 'provider');
});

describe('the class of a status in a row of usage', () => {
  it.each([401, 402, 404, 408, 429])('names %d', (status) => {
    expect(providerStatusOf(status, outcomeOfStatus(status) ?? 'malformed_answer')).toBe(String(status));
  });

  it.each([500, 502, 503, 529, 599])('of %d is 5xx', (status) => {
    expect(providerStatusOf(status, 'server_error')).toBe('5xx');
  });

  it.each([400, 403, 409, 413, 415, 422, 451, 302, 600])('does not say %d, which may refuse the content', (status) => {
    expect(providerStatusOf(status, outcomeOfStatus(status) ?? 'malformed_answer')).toBeUndefined();
  });

  it('says nothing of a refused request, whatever status its provider chose, nor of a provider without an answer', () => {
    const refusing = rows
      .map(([, outcome]) => outcome)
      .filter((outcome) => failoverTable[outcome].usageError === 'request');
    expect(refusing.length).toBeGreaterThan(0);
    for (const outcome of refusing)
      for (const status of [404, 429, 500]) expect(providerStatusOf(status, outcome)).toBeUndefined();
    expect(providerStatusOf(undefined, 'network_failure')).toBeUndefined();
  });
});

describe('nextStep', () => {
  it.each(rows)('after %s from the first of several providers', (_, outcome, next, __, ___, type) => {
    expect(nextStep(outcome, { attempt: 1, remaining: 2 })).toEqual(
      next ? { step: 'try_next' } : { step: 'answer', error: type },
    );
  });

  it.each(rows)('after %s from the only provider tried, its own sanitized error', (...row) => {
    const [, outcome, , , status, type] = row;
    const step = nextStep(outcome, { attempt: 1, remaining: 0 });
    expect(step).toEqual({ step: 'answer', error: type });
    expect(step.step === 'answer' && errorTable[step.error].status).toBe(status);
  });

  it.each(rows)('after %s from the last of several, `provider_fallback_exhausted`', (_, outcome) => {
    expect(nextStep(outcome, { attempt: 2, remaining: 0 })).toEqual({
      step: 'answer',
      error: 'provider_fallback_exhausted',
    });
    expect(nextStep(outcome, { attempt: 3, remaining: 0 })).toEqual({
      step: 'answer',
      error: 'provider_fallback_exhausted',
    });
  });

  it('a 400 from a later attempt ends the chain as `provider_fallback_exhausted`, though providers remain', () => {
    expect(nextStep('invalid_request', { attempt: 2, remaining: 1 })).toEqual({
      step: 'answer',
      error: 'provider_fallback_exhausted',
    });
    expect(nextStep('content_refused', { attempt: 2, remaining: 1 })).toEqual({
      step: 'answer',
      error: 'provider_fallback_exhausted',
    });
  });

  it('goes on after a later failure while providers remain', () => {
    expect(nextStep('server_error', { attempt: 2, remaining: 1 })).toEqual({ step: 'try_next' });
  });
});

describe('nextStep of an encrypted request', () => {
  it.each(rows)(
    'after %s (%s) no other provider is tried, however many remain',
    (_, outcome, __, ___, status, type) => {
      const error = status < 500 ? type : 'provider_fallback_not_supported_for_e2ee';
      for (const remaining of [0, 2]) {
        expect(nextStep(outcome, { attempt: 1, remaining, encrypted: true })).toEqual({ step: 'answer', error });
      }
    },
  );
});

describe('outcomeOfStatus', () => {
  it.each<[number, AttemptOutcome | undefined]>([
    [200, undefined],
    [204, undefined],
    [299, undefined],
    [300, 'malformed_answer'],
    [101, 'malformed_answer'],
    [301, 'malformed_answer'],
    [307, 'malformed_answer'],
    [400, 'invalid_request'],
    [401, 'authentication_failed'],
    [402, 'quota_exhausted'],
    [403, 'other_client_error'],
    [404, 'model_unavailable'],
    [408, 'timeout'],
    [409, 'other_client_error'],
    [413, 'unprocessable'],
    [418, 'other_client_error'],
    [422, 'unprocessable'],
    [429, 'rate_limited'],
    [500, 'server_error'],
    [503, 'server_error'],
    [529, 'server_error'],
  ])('reads %i as %s', (status, outcome) => {
    expect(outcomeOfStatus(status)).toBe(outcome);
  });
});
