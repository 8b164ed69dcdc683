import { type Plan, type Route, routingOf } from '@sotto/router';
import type { RateStatus } from '@sotto/state';
import { formatResetDuration, headerNames } from '@sotto/wire';

/** Returns the state of the rate limits for every inference answer, as name, value, name, value. */
export function rateHeaders(rate: RateStatus): string[] {
  const reset = formatResetDuration(rate.resetMs);
  return [
    headerNames.limitRequests,
    String(rate.limitRequests),
    headerNames.remainingRequests,
    String(rate.remainingRequests),
    headerNames.resetRequests,
    reset,
    headerNames.limitTokens,
    String(rate.limitTokens),
    headerNames.remainingTokens,
    String(rate.remainingTokens),
    headerNames.resetTokens,
    reset,
  ];
}

/** Tells which provider and model were chosen, and how. Errors have these headers, too, once there is a plan. */
export const selectionHeaders = (plan: Plan, route: Route): string[] => [
  headerNames.selectedModel,
  `${route.publicProviderId}/${route.modelId}`,
  headerNames.routing,
  routingOf(plan, route),
];

/** Tells which provider and model served, and how they were chosen. */
export const routeHeaders = (plan: Plan, route: Route, attempts: number): string[] => [
  ...selectionHeaders(plan, route),
  headerNames.provider,
  route.publicProviderId,
  headerNames.providerAttempts,
  String(attempts),
  headerNames.providerFallback,
  String(attempts > 1),
  headerNames.privacyClass,
  route.privacyClass,
];
