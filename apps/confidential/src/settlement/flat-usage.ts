import { noUsage, type TokenBounds, type Usage } from '@sotto/money';
import type { Route } from '@sotto/router';
import type { Served } from './request-settlement.ts';

/** What the meter is told of an operation with a flat price: the broker knows its usage, no provider has to report it. */
export const servedAtFlatPrice = (
  route: Route,
  product: Pick<Usage, 'images'> | Pick<Usage, 'inputCharacters'>,
): Served => {
  const bounds: TokenBounds = { promptTokens: 0, completionTokens: 0, ...product };
  return { route, reported: { ...noUsage, ...product }, counted: { promptTokens: 0, producedBytes: 0 }, bounds };
};
