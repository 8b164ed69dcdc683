/** Names of the service's own headers (interface 4.7, design 6), lower case as HTTP/2 and Node have them. */
export const headerNames = {
  ticket: 'x-router-ticket',
  /** Of a request sealed for an enclave: the provider family it is sealed for, and the canonical model id. */
  e2eeFamily: 'x-router-e2ee-family',
  e2eeModel: 'x-router-e2ee-model',
  selectedModel: 'x-router-selected-model',
  routing: 'x-router-routing',
  provider: 'x-router-provider',
  providerAttempts: 'x-router-provider-attempts',
  providerFallback: 'x-router-provider-fallback',
  privacyClass: 'x-router-privacy-class',
  requestId: 'x-request-id',
  limitRequests: 'x-ratelimit-limit-requests',
  remainingRequests: 'x-ratelimit-remaining-requests',
  resetRequests: 'x-ratelimit-reset-requests',
  limitTokens: 'x-ratelimit-limit-tokens',
  remainingTokens: 'x-ratelimit-remaining-tokens',
  resetTokens: 'x-ratelimit-reset-tokens',
} as const;

/** A duration as `x-ratelimit-reset-*` writes it: `0s`, `350ms`, `1s`, `6m0s`. */
export function formatResetDuration(ms: number): string {
  if (ms <= 0) return '0s';
  if (ms < 1000) return `${Math.ceil(ms)}ms`;
  const seconds = Math.ceil(ms / 1000);
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${seconds % 60}s`;
}
