import { type ErrorType, errorTable } from '@sotto/wire';

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
  /** What the client gets where this was the only provider tried (design 6). */
  readonly aloneAs: ErrorType;
}

const row = (triesNext: boolean, penalizes: FailoverRow['penalizes'], aloneAs: ErrorType): FailoverRow => ({
  triesNext,
  penalizes,
  aloneAs,
});

/** Automatic failover (interface 3.3), and the answer when there was nobody to fail over to (design 6). */
export const failoverTable = {
  rate_limited: row(true, 'route', 'rate_limited'),
  server_error: row(true, 'route', 'provider_error'),
  timeout: row(true, 'route', 'provider_timeout'),
  network_failure: row(true, 'route', 'provider_error'),
  malformed_answer: row(true, 'route', 'provider_error'),
  model_unavailable: row(true, 'route', 'provider_error'),
  authentication_failed: row(true, 'provider', 'provider_error'),
  quota_exhausted: row(true, 'provider', 'provider_error'),
  invalid_request: row(false, 'none', 'invalid_request'),
  /** 413 and 422: the request is at fault, yet another provider may take it. */
  unprocessable: row(true, 'none', 'invalid_request'),
  /** 403, 409 and every other 4xx. */
  other_client_error: row(true, 'none', 'provider_error'),
  content_refused: row(false, 'none', 'invalid_request'),
  /** A 400 that says so: another provider of the model has no larger context to offer. */
  context_exceeded: row(false, 'none', 'context_too_large'),
  /** Ours, not of interface 3.3: the enclave could not be verified, so that nothing was sent to it. */
  attestation_failed: row(true, 'route', 'provider_error'),
} as const satisfies Record<AttemptOutcome, FailoverRow>;

/** Reads a provider's HTTP status; undefined for a success. A redirect is never followed: it is malformed. */
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

/** What a request does after an attempt failed before output. */
export type NextStep = { readonly step: 'try_next' } | { readonly step: 'answer'; readonly error: ErrorType };

export interface AttemptPlace {
  /** Counts from 1. */
  readonly attempt: number;
  /** How many permitted routes are left. */
  readonly remaining: number;
  /** Whether the request was encrypted to the provider that was tried: nobody else could read it. */
  readonly encrypted?: boolean;
}

/**
 * The step after a failed attempt. A single provider's failure is its own; after a fallback every failure is
 * `provider_fallback_exhausted`. An encrypted request has no next (interface 3.3): what the provider did wrong asks for
 * fresh attestation, and what the client did wrong stays as it is.
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
