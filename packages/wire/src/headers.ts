/** Names of the service's own headers, in lower case as in HTTP/2 and Node. See docs/reference/headers.md. */
export const headerNames = {
  ticket: 'x-router-ticket',
  /** On a request that is encrypted for an enclave: the JSON of `sealedQuestionSchema`. */
  e2ee: 'x-router-e2ee',
  /** On a request, and on the call for its receipt: the secret that opens the receipt. */
  receipt: 'x-router-receipt',
  /** On an answer by an enclave: the id of the enclave's own receipt. */
  providerRequestId: 'x-router-provider-request-id',
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
