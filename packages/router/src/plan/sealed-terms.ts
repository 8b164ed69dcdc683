import {
  type CountedOutput,
  clampUsage,
  cost,
  countedUsage,
  dearestCost,
  type Nusd,
  noUsage,
  type Price,
  type TokenBounds,
  type Usage,
} from '@sotto/money';
import { type RelayRule, sealedOutputSlack } from '@sotto/wire';
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
  /** An answer that must have more output tokens than this is ended, and charged; undefined where the body shows its ceiling. */
  readonly mostOutputTokens: number | undefined;
}

/**
 * The terms of a sealed request on its route. `neighbours` are the routes at the same address: a body that was sealed
 * whole may name any of their models, so it is held and charged as the dearest of them. It may ask for several answers at
 * once, so a multiple of the output ceiling is set aside. One that was packed as well is charged the route's full
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

/** What must be set aside for a sealed request: no usage within its bounds costs more at any of its prices. */
export function sealedHold({ bounds, prices }: SealedTerms): Nusd {
  let most = 0n;
  for (const price of prices) {
    const dearest = dearestCost(bounds, price);
    if (dearest > most) most = dearest;
  }
  return most;
}

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
