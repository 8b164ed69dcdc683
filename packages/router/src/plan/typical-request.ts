import { cost, noUsage, type Price, type Usage } from '@sotto/money';

/**
 * The request by which the sort Default compares prices (interface 3.4): three prompt tokens, one of them from a cache,
 * for each completion token. Images and speech are priced in units of their own, so that all kinds fit in one request.
 */
export const typicalRequest: Usage = {
  ...noUsage,
  promptTokens: 3000,
  cachedTokens: 1000,
  completionTokens: 1000,
  images: 1,
  inputCharacters: 1000,
};

/** What a typical request costs, in nano-USD. At least one, so that free routes still compare by speed and success. */
export const expectedCost = (price: Price): number => Math.max(1, Number(cost(typicalRequest, price)));
