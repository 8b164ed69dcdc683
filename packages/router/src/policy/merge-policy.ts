import { usdPerMillionToPico } from '@sotto/money';
import {
  boundaryClass,
  comparePrivacy,
  type Preferences,
  type PrivacyClass,
  type RequestSort,
  strongest,
} from '@sotto/wire';
import type { RequestPolicy } from './request-policy.ts';

export type Sort = RequestSort | 'default';

/** Preferences as a plan uses them, from a workspace or from a ticket. */
export interface RequestPreferences extends Preferences {
  /** The public ids of the only providers that may serve. Absent: all that are not ignored. */
  readonly provider_allow?: readonly string[];
}

/** The combined demands of a request and its workspace. */
export interface MergedPolicy {
  readonly order: readonly string[];
  /** Undefined: every provider that is not ignored. */
  readonly only: readonly string[] | undefined;
  readonly ignore: readonly string[];
  /** The public ids of the only providers that the workspace allows. Undefined: all that are not ignored. */
  readonly allow: readonly string[] | undefined;
  readonly maxAttempts: number;
  readonly sort: Sort;
  /** The workspace's boundary: the weakest class that any of its requests may use. */
  readonly boundary: PrivacyClass;
  /** The weakest class that this request may use. Never below the boundary. */
  readonly floor: PrivacyClass;
  /** True if the floor is `private` only because the request sorts by price, latency or throughput. */
  readonly floorCarriedBySort: boolean;
  /** The `minimum_privacy` of the request. It allows the plan to step down to that class. */
  readonly statedMinimum: PrivacyClass | undefined;
  /** The workspace's limit for stepping down in a fallback. If set, it always applies. */
  readonly fallbackFloor: PrivacyClass | undefined;
  /** Ceilings in pico-USD per token. */
  readonly maxPrice: { readonly input: number; readonly output: number };
  readonly requireParameters: boolean;
}

/** Merges a request's policy into its workspace's preferences. The request may only tighten them. */
export function mergePolicy(preferences: RequestPreferences, request: RequestPolicy): MergedPolicy {
  const boundary = boundaryClass[preferences.privacy_boundary];
  const sort = request.suffixSort ?? (request.unset ? preferences.provider_sort : (request.sort ?? 'privacy'));
  const stated = request.minimum_privacy;
  const demanded = strongest(boundary, preferences.provider_minimum_privacy, stated);
  // A sort by price, latency or throughput must not use anonymous routes unless the request asks for them.
  const carriesFloor = (sort === 'price' || sort === 'latency' || sort === 'throughput') && stated === undefined;
  const floor = carriesFloor ? strongest(demanded, 'private') : demanded;
  const fallbacks = preferences.provider_allow_fallbacks && request.allow_fallbacks !== false;
  return {
    order: request.order ?? [],
    only: request.only,
    ignore: [...preferences.provider_ignore, ...(request.ignore ?? [])],
    allow: preferences.provider_allow,
    maxAttempts: fallbacks ? Math.min(preferences.provider_max_attempts, request.max_attempts ?? 3) : 1,
    sort,
    boundary,
    floor,
    floorCarriedBySort: comparePrivacy(floor, demanded) > 0,
    statedMinimum: stated,
    fallbackFloor: preferences.fallback_floor === null ? undefined : strongest(preferences.fallback_floor, boundary),
    maxPrice: {
      input: Math.min(ceiling(preferences.max_price?.input), ceiling(request.max_price?.input)),
      output: Math.min(ceiling(preferences.max_price?.output), ceiling(request.max_price?.output)),
    },
    requireParameters: request.require_parameters === true,
  };
}

/** Rounds down a ceiling that is finer than prices can be, so that it never exceeds the requested one. */
function ceiling(usdPerMillion: number | undefined): number {
  if (usdPerMillion === undefined) return Number.POSITIVE_INFINITY;
  return usdPerMillionToPico(usdPerMillion) ?? Math.floor(usdPerMillion * 1e6);
}
