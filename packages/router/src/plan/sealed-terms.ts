import {
  type CountedOutput,
  clampUsage,
  cost,
  countedUsage,
  dearestCost,
  largestAmount,
  type Nusd,
  noUsage,
  type Price,
  type TokenBounds,
  type Usage,
} from '@sotto/money';
import { allowance, type ReasoningSelection, type RelayRule, type SealedChat, sealedOutputSlack } from '@sotto/wire';
import type { Route } from '../catalog/catalog.ts';
import { optionalParametersOf } from '../parameters/used-parameters.ts';
import { attemptBounds, type RequestSize } from './attempt-limits.ts';
import { type Needs, noNeeds, reasoningNeeds } from './needs.ts';

export interface SealedTerms {
  /** The most tokens that it can use. */
  readonly bounds: TokenBounds;
  /** The usage is charged at whichever of these makes it dearest. */
  readonly prices: readonly Price[];
  /** The charge if the broker cannot tell the size: it applies to every such request. */
  readonly flat: Usage | undefined;
  /**
   * The broker ends, and charges, an answer that certainly has more output tokens than this. Undefined if the body
   * shows its ceiling.
   */
  readonly mostOutputTokens: number | undefined;
}

/**
 * The terms of a sealed request on its route. `neighbours` are the routes at the same address. A body that was sealed
 * whole may name any of their models, so it is held and charged as the dearest of them. It may request several answers
 * at once, so a multiple of the output ceiling is held. A body that may be compressed, too, is charged the route's full
 * context window and full output ceiling.
 */
export function sealedTerms(
  metering: RelayRule['metering'],
  {
    route,
    neighbours,
    size,
  }: { readonly route: Route; readonly neighbours: readonly Route[]; readonly size: RequestSize },
): SealedTerms {
  if (metering === 'none') {
    const { contextLength } = route;
    if (contextLength === undefined) throw new Error('a text route without a context window');
    const bounds = { promptTokens: contextLength, completionTokens: route.maxOutputTokens ?? contextLength };
    const flat = { ...noUsage, ...bounds };
    return { bounds, prices: [route.price], flat, mostOutputTokens: bounds.completionTokens };
  }
  const routes = metering === 'frames' ? [route, ...neighbours] : [route];
  const bounds = routes.map((one) => attemptBounds(one, size));
  const ceiling = Math.max(...bounds.map(({ completionTokens }) => completionTokens));
  const completionTokens = metering === 'frames' ? ceiling * sealedOutputSlack : ceiling;
  return {
    bounds: { promptTokens: Math.max(...bounds.map(({ promptTokens }) => promptTokens)), completionTokens },
    prices: routes.map(({ price }) => price),
    flat: undefined,
    mostOutputTokens: metering === 'frames' ? completionTokens : undefined,
  };
}

/** The amount to hold for a sealed request. No usage within its bounds costs more at any of its prices. */
export const sealedHold = ({ bounds, prices }: SealedTerms): Nusd =>
  largestAmount(prices.map((price) => dearestCost(bounds, price)));

/** The price at which the counted usage costs most. */
export function dearestSealedPrice({ prices, bounds }: SealedTerms, counted: CountedOutput): Price | undefined {
  const usage = clampUsage(countedUsage(counted), bounds);
  let dearest: { readonly price: Price; readonly cost: Nusd } | undefined;
  for (const price of prices) {
    const own = cost(usage, price);
    if (dearest === undefined || own > dearest.cost) dearest = { price, cost: own };
  }
  return dearest?.price;
}

/** The facts about a chat request that a relay knows without reading it. */
export interface SealedMeasure {
  readonly reasoning: ReasoningSelection;
  /**
   * UTF-8 bytes of the sealed plaintext. If each content was sealed separately, the sum of the contents; otherwise the
   * whole JSON body. 0 if it was compressed, because then the size is unknown.
   */
  readonly plaintextBytes: number;
  /** The body around contents that were sealed separately. */
  readonly chat?: SealedChat;
  readonly maxOutputTokens?: number | undefined;
}

/** Measures a sealed chat request and its needs of a route. */
export function measureSealed({ reasoning, plaintextBytes, chat, maxOutputTokens }: SealedMeasure): {
  readonly needs: Needs;
  readonly size: RequestSize;
} {
  // In a body that was sealed whole, each message's own JSON is longer than its allowance.
  const messages = chat?.messages.length ?? 0;
  return {
    needs: {
      ...noNeeds('text'),
      optionalParameters: chat === undefined ? [] : optionalParametersOf(chat),
      ...reasoningNeeds(reasoning),
      promptTokens: Math.ceil(plaintextBytes / 4) + messages * 4,
      maxOutputTokens,
      encrypted: true,
    },
    size: {
      promptTokensAtMost: plaintextBytes + allowance.request + messages * allowance.message,
      promptTokensLikely: Math.ceil(plaintextBytes / 3) + messages * 8,
      maxOutputTokens,
    },
  };
}
