import type { Route } from '../catalog/catalog.ts';
import { baseProviderId } from '../catalog/provider-id.ts';
import { type AttemptOutcome, failoverTable } from './failover.ts';

/** A temporary demotion of a route, or of every route of a provider. Instants in Unix ms. */
export interface Penalty {
  readonly kind: AttemptOutcome;
  readonly strikes: number;
  readonly lastStrikeAt: number;
  readonly expiresAt: number;
}

export const penaltyRules = {
  firstMs: 30_000,
  maxMs: 300_000,
  /** After this long without a failure, the count of strikes starts again. */
  resetMs: 600_000,
} as const;

/**
 * Adds a penalized failure that was seen at `now`, of an attempt that began at `startedAt`. An attempt that began
 * before the last strike reveals nothing new about the provider, so it adds no strike.
 */
export function strike(
  current: Penalty | undefined,
  failure: { readonly kind: AttemptOutcome; readonly startedAt: number; readonly now: number },
): Penalty {
  // Uses the absolute difference: if the last strike is far ahead, the clock that set it has been set back since.
  const counts = current !== undefined && Math.abs(failure.now - current.lastStrikeAt) < penaltyRules.resetMs;
  if (counts && failure.startedAt < current.lastStrikeAt) return current;
  const strikes = counts ? current.strikes + 1 : 1;
  const lengthMs = Math.min(penaltyRules.firstMs * 2 ** Math.min(strikes - 1, 10), penaltyRules.maxMs);
  return { kind: failure.kind, strikes, lastStrikeAt: failure.now, expiresAt: failure.now + lengthMs };
}

/** Penalties by key: `route:<route id>` or `provider:<provider id>`. */
export type Penalties = ReadonlyMap<string, Penalty>;

/** The key under which an outcome penalizes a route. Undefined if it does not. */
export function penaltyKey(outcome: AttemptOutcome, route: Route): string | undefined {
  const scope = failoverTable[outcome].penalizes;
  if (scope === 'none') return undefined;
  return scope === 'provider' ? `provider:${route.providerId}` : `route:${route.id}`;
}

/**
 * Whether a route is demoted at `now`. A penalty can apply to the route, its provider, or the provider that it is a
 * variant of.
 */
export function isPenalized(penalties: Penalties, route: Route, now: number): boolean {
  if (penalties.size === 0) return false;
  // A penalty that lasts longer than any rule allows was set by a clock that has been set back since. Twice the limit
  // leaves room for clocks that differ.
  const active = (key: string): boolean => {
    const leftMs = (penalties.get(key)?.expiresAt ?? 0) - now;
    return leftMs > 0 && leftMs <= 2 * penaltyRules.maxMs;
  };
  return (
    active(`route:${route.id}`) ||
    active(`provider:${route.providerId}`) ||
    active(`provider:${baseProviderId(route.providerId)}`)
  );
}
