import { dearestCost, type Nusd, type TokenBounds } from '@sotto/money';
import type { Route } from '../catalog/catalog.ts';

/** How large a request is, in the three ways that matter: none of them is content. */
export interface RequestSize {
  /** A true upper bound of the prompt in tokens: a token is at least one byte. */
  readonly promptTokensAtMost: number;
  /** An estimate of the prompt in tokens that errs towards more. */
  readonly promptTokensLikely: number;
  /** The output ceiling of the request, if it has one. */
  readonly maxOutputTokens: number | undefined;
}

/** Without any limit in the catalog an answer may still not be endless. */
const fallbackOutputTokens = 32_768;
const smallestCeiling = 256;

/**
 * The output ceiling that is sent upstream on this route: the request's, else what the route allows beside the prompt.
 * It is always sent, so that the hold is a true bound (design 5).
 */
export function outputCeiling(route: Route, size: RequestSize): number {
  const most = route.maxOutputTokens ?? route.contextLength ?? fallbackOutputTokens;
  if (size.maxOutputTokens !== undefined) return Math.min(size.maxOutputTokens, most);
  if (route.contextLength === undefined) return most;
  return Math.min(most, Math.max(route.contextLength - size.promptTokensLikely, smallestCeiling));
}

/** The most tokens one attempt on this route can use. */
export const attemptBounds = (route: Route, size: RequestSize): TokenBounds => ({
  promptTokens: Math.min(size.promptTokensAtMost, route.contextLength ?? Number.MAX_SAFE_INTEGER),
  completionTokens: outputCeiling(route, size),
});

/** What must be set aside before the first attempt: the dearest attempt that the plan permits (interface 4.8). */
export function holdOf(attempts: readonly Route[], size: RequestSize, bounds = attemptBounds): Nusd {
  let most = 0n;
  for (const route of attempts) {
    const dearest = dearestCost(bounds(route, size), route.price);
    if (dearest > most) most = dearest;
  }
  return most;
}

/** The most tokens one embeddings attempt can use: every input counts, and there is no output. */
export const embeddingBounds = (_route: Route, size: RequestSize): TokenBounds => ({
  promptTokens: size.promptTokensAtMost,
  completionTokens: 0,
});
