export const usageStatuses = ['completed', 'cancelled', 'failed'] as const;

/**
 * Why a request that reached a provider did not complete, in one word. A provider's refusal of content reads as `request`, because
 * a class of its own would describe the content.
 */
export const usageErrors = ['provider', 'timeout', 'rate_limit', 'request', 'cancelled'] as const;
export type UsageError = (typeof usageErrors)[number];

/** Why an attempt failed that another one followed. A refusal reads as `provider`, so that no row describes the content. */
export const attemptErrors = ['provider', 'timeout', 'rate_limit'] as const satisfies readonly UsageError[];
export type AttemptError = (typeof attemptErrors)[number];

/**
 * The times to the first token of streamed chat answers are counted in eight classes: up to each of these bounds in
 * milliseconds, and beyond the last. A class is coarse on purpose, because a settlement carries it.
 */
export const firstTokenBoundsMs = [250, 500, 1000, 2000, 4000, 8000, 16_000] as const;

/**
 * The HTTP status with which the last provider answered a request that failed, as a class. Absent are all others: 400, 403, 413 and
 * 422 would reveal that a provider refused the content, and another 4xx might.
 */
export const providerStatuses = ['401', '402', '404', '408', '429', '5xx'] as const;
export type ProviderStatus = (typeof providerStatuses)[number];

/**
 * Why the service refused a request before any provider was tried. 402: `balance` to `key_budget`. 429: `requests` and `tokens` of a
 * minute. 403: the key may not use the model (`model`) or the way to ask (`access`), or no provider keeps the privacy floor (`privacy`).
 * No kind describes content.
 */
export const refusalKinds = [
  'balance',
  'key_limit',
  'workspace_budget',
  'member_budget',
  'tag_budget',
  'key_budget',
  'requests',
  'tokens',
  'model',
  'access',
  'privacy',
] as const;
export type RefusalKind = (typeof refusalKinds)[number];
