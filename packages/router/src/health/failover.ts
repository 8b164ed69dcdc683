import {
  type AttemptError,
  type ErrorType,
  errorTable,
  type ProviderStatus,
  providerStatuses,
  type UsageError,
} from '@sotto/wire';

/** How one attempt ended before any output reached the client. */
export type AttemptOutcome =
  | 'rate_limited'
  | 'server_error'
  | 'timeout'
  | 'network_failure'
  | 'malformed_answer'
  | 'model_unavailable'
  | 'authentication_failed'
  | 'quota_exhausted'
  | 'invalid_request'
  | 'unprocessable'
  | 'other_client_error'
  | 'content_refused'
  | 'context_exceeded'
  | 'attestation_failed';

export interface FailoverRow {
  readonly triesNext: boolean;
  readonly penalizes: 'route' | 'provider' | 'none';
  /** The error that the client gets if only this provider was tried. */
  readonly aloneAs: ErrorType;
  /** The class that the request's row of usage gets if this was its last attempt. */
  readonly usageError: Exclude<UsageError, 'cancelled'>;
  /**
   * What a retry of the same request does: it may help; it fails again until the request, or what the operator has set, changes; or it
   * may pay twice, because the provider may have worked.
   */
  readonly retry: 'helps' | 'in_vain' | 'may_pay_twice';
}

const row = (
  triesNext: boolean,
  penalizes: FailoverRow['penalizes'],
  aloneAs: ErrorType,
  retry: FailoverRow['retry'],
  usageError: FailoverRow['usageError'] = 'provider',
): FailoverRow => ({ triesNext, penalizes, aloneAs, retry, usageError });

/**
 * The effect of each outcome: whether the next provider is tried, the penalty, the error if no other was tried, and whether the
 * client may retry.
 */
export const failoverTable = {
  rate_limited: row(true, 'route', 'rate_limited', 'helps', 'rate_limit'),
  server_error: row(true, 'route', 'provider_error', 'helps'),
  timeout: row(true, 'route', 'provider_timeout', 'may_pay_twice', 'timeout'),
  network_failure: row(true, 'route', 'provider_error', 'may_pay_twice'),
  malformed_answer: row(true, 'route', 'provider_error', 'may_pay_twice'),
  model_unavailable: row(true, 'route', 'provider_error', 'in_vain'),
  authentication_failed: row(true, 'provider', 'provider_error', 'in_vain'),
  quota_exhausted: row(true, 'provider', 'provider_error', 'in_vain'),
  invalid_request: row(false, 'none', 'invalid_request', 'in_vain', 'request'),
  /** 413 and 422: the request is at fault, but another provider may accept it. */
  unprocessable: row(true, 'none', 'invalid_request', 'in_vain', 'request'),
  /** 403, 409 and every other 4xx. */
  other_client_error: row(true, 'none', 'provider_error', 'in_vain'),
  content_refused: row(false, 'none', 'invalid_request', 'in_vain', 'request'),
  /** A 400 that reports a context overflow. Other providers of the model do not have a larger context. */
  context_exceeded: row(false, 'none', 'context_too_large', 'in_vain', 'request'),
  /** The broker could not verify the enclave, so it sent nothing there. */
  attestation_failed: row(true, 'route', 'provider_error', 'helps'),
} as const satisfies Record<AttemptOutcome, FailoverRow>;

/**
 * Returns the class that a row of usage has for an attempt that another one followed. A refusal reads as `provider`: the row must
 * not say that one provider refused a content that another answered.
 */
export function attemptErrorOf(outcome: AttemptOutcome): AttemptError {
  const { usageError } = failoverTable[outcome];
  return usageError === 'request' ? 'provider' : usageError;
}

/**
 * Returns the class of a provider's HTTP status for the row of usage of a request whose last attempt it ended. Undefined for a status
 * without a class, and for whatever else a provider answers to a request that it refused.
 */
export function providerStatusOf(status: number | undefined, outcome: AttemptOutcome): ProviderStatus | undefined {
  if (status === undefined || failoverTable[outcome].usageError === 'request') return undefined;
  const name = status >= 500 && status < 600 ? '5xx' : String(status);
  return providerStatuses.find((each) => each === name);
}

/**
 * Reads a provider's HTTP status; undefined for a success. The broker never follows a redirect: it counts as malformed.
 */
export function outcomeOfStatus(status: number): AttemptOutcome | undefined {
  if (status >= 200 && status < 300) return undefined;
  switch (status) {
    case 400:
      return 'invalid_request';
    case 401:
      return 'authentication_failed';
    case 402:
      return 'quota_exhausted';
    case 404:
      return 'model_unavailable';
    case 408:
      return 'timeout';
    case 413:
    case 422:
      return 'unprocessable';
    case 429:
      return 'rate_limited';
    default:
      if (status >= 500) return 'server_error';
      return status >= 400 ? 'other_client_error' : 'malformed_answer';
  }
}

/** The step that follows an attempt that failed before any output. */
export type NextStep = { readonly step: 'try_next' } | { readonly step: 'answer'; readonly error: ErrorType };

export interface AttemptPlace {
  /** Counts from 1. */
  readonly attempt: number;
  /** How many permitted routes are left. */
  readonly remaining: number;
  /** Whether the request was encrypted to the provider that was tried, so that no other provider can read it. */
  readonly encrypted?: boolean;
}

/**
 * Decides what follows a failed attempt. If only one provider was tried, the client gets that provider's error. After a
 * fallback, every failure is `provider_fallback_exhausted`.
 * An encrypted request is never sent to another provider. If the provider failed, the client must fetch new
 * attestation. If the client was at fault, it gets the same error as without encryption.
 */
export function nextStep(outcome: AttemptOutcome, { attempt, remaining, encrypted = false }: AttemptPlace): NextStep {
  const { triesNext, aloneAs } = failoverTable[outcome];
  if (encrypted) {
    const error = errorTable[aloneAs].status < 500 ? aloneAs : 'provider_fallback_not_supported_for_e2ee';
    return { step: 'answer', error };
  }
  if (triesNext && remaining > 0) return { step: 'try_next' };
  return { step: 'answer', error: attempt > 1 ? 'provider_fallback_exhausted' : aloneAs };
}
