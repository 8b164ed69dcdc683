import { dearestCost, largestAmount, type Nusd, type TokenBounds } from '@sotto/money';
import type { Route } from '../catalog/catalog.ts';

/** The size of a request. It reveals no content. */
export interface RequestSize {
  /** An upper bound of the prompt in tokens: a token is at least one byte. */
  readonly promptTokensAtMost: number;
  /** An estimate of the prompt in tokens, rather too high than too low. */
  readonly promptTokensLikely: number;
  /** The output ceiling of the request, if it has one. */
  readonly maxOutputTokens: number | undefined;
}

/** Limits an answer if the catalog does not state any limit. */
const fallbackOutputTokens = 32_768;
const smallestCeiling = 256;

/**
 * The output ceiling to send on this route: the request's, or the room that the prompt leaves. The broker always sends
 * one, so that the hold is a true upper bound.
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

/**
 * The amount to hold before the first attempt: the cost of the dearest attempt that the plan permits
 * (docs/concepts/holds-and-charges.md).
 */
export const holdOf = (attempts: readonly Route[], size: RequestSize, bounds = attemptBounds): Nusd =>
  largestAmount(attempts.map((route) => dearestCost(bounds(route, size), route.price)));

/** The most tokens that one embeddings attempt can use. Every input counts, and the output costs no tokens. */
export const embeddingBounds = (_route: Route, size: RequestSize): TokenBounds => ({
  promptTokens: size.promptTokensAtMost,
  completionTokens: 0,
});

/** Images and speech have flat prices. They use no tokens, neither for the charge nor for the rate limits. */
export const noTokens: RequestSize = { promptTokensAtMost: 0, promptTokensLikely: 0, maxOutputTokens: undefined };

const flat = { promptTokens: 0, completionTokens: 0 } as const;

/** The most that one image attempt can use: one image. */
export const imageBounds = (): TokenBounds => ({ ...flat, images: 1 });

/** The most that one speech attempt can use: the whole text, in UTF-16 code units. */
export const speechBounds = (inputCharacters: number): TokenBounds => ({ ...flat, inputCharacters });
