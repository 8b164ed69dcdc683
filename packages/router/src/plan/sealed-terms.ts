import {
  bytesPerToken,
  cost,
  countedUsage,
  dearestCost,
  type MeterReading,
  type Nusd,
  noUsage,
  type Price,
  type TokenBounds,
  type Usage,
} from '@sotto/money';
import type { RelayRule } from '@sotto/wire';
import type { Route } from '../catalog/catalog.ts';
import { attemptBounds, type RequestSize } from './attempt-limits.ts';

/** What a sealed request is charged by. */
export interface SealedTerms {
  /** The most tokens that it can use. */
  readonly bounds: TokenBounds;
  /** It costs what it costs at the dearest of these. */
  readonly prices: readonly Price[];
  /** Where nothing of its size is known: what it is charged, whatever it was. */
  readonly flat: Usage | undefined;
}

/**
 * The terms of a sealed request on its route. `neighbours` are the routes at the same address: a body that was sealed
 * whole may name any of their models, so it is held and charged as the dearest of them. One that was packed as well is
 * charged the route's full context window and full output ceiling (interface 4.2).
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
    return { bounds, prices: [route.price], flat: { ...noUsage, ...bounds } };
  }
  const routes = metering === 'frames' ? [route, ...neighbours] : [route];
  const bounds = routes.map((one) => attemptBounds(one, size));
  return {
    bounds: {
      promptTokens: Math.max(...bounds.map(({ promptTokens }) => promptTokens)),
      completionTokens: Math.max(...bounds.map(({ completionTokens }) => completionTokens)),
    },
    prices: routes.map(({ price }) => price),
    flat: undefined,
  };
}

/** What must be set aside for a sealed request: no usage within its bounds costs more at any of its prices. */
export function sealedHold({ bounds, prices }: SealedTerms): Nusd {
  let most = 0n;
  for (const price of prices) {
    const dearest = dearestCost(bounds, price);
    if (dearest > most) most = dearest;
  }
  return most;
}

/** An estimate from lengths, kept within what the request allowed: text whose tokens are long is not more tokens. */
export const clampCounted = (
  { bounds }: SealedTerms,
  { promptTokens, producedBytes }: MeterReading['counted'],
): MeterReading['counted'] => ({
  promptTokens: Math.min(promptTokens, bounds.promptTokens),
  producedBytes: Math.min(producedBytes, bounds.completionTokens * bytesPerToken),
});

/** The price at which what was counted costs most. */
export function dearestSealedPrice({ prices }: SealedTerms, counted: MeterReading['counted']): Price | undefined {
  const usage = countedUsage(counted);
  let dearest: { readonly price: Price; readonly cost: Nusd } | undefined;
  for (const price of prices) {
    const own = cost(usage, price);
    if (dearest === undefined || own > dearest.cost) dearest = { price, cost: own };
  }
  return dearest?.price;
}
