import { cost, type Nusd, noUsage, type Price } from '@sotto/money';
import type { ListedPrice } from './price-list.ts';
import type { Charge } from './read-bill.ts';

/**
 * The result of recomputing a charge:
 *
 * - `exact`: equal to the nano-dollar.
 * - `within`: between the cost without cache writes and with them. It does not say how many there were.
 * - `below`: less than the listed prices explain, for example because the charge was capped or free.
 * - `above`: more than the listed prices explain.
 * - `unknown`: the list does not have a price for it.
 */
export type ChargeFinding = {
  readonly charge: Charge;
  readonly result: 'exact' | 'within' | 'below' | 'above' | 'unknown';
  /** The least and the most that the listed prices explain. Undefined if the list has no price. */
  readonly explained: Span | undefined;
};

const maxSpeechCharacters = 20_000;

/** Recomputes a charge from its usage at the listed prices of its route, with the service's own arithmetic. */
export function verifyCharge(charge: Charge, prices: readonly ListedPrice[]): ChargeFinding {
  const listed = prices.filter(
    ({ model, provider }) => model === charge.model && (charge.provider === undefined || provider === charge.provider),
  );
  const possible = listed.flatMap(({ price }) => costsOf(charge, price));
  if (possible.length === 0) {
    // A charge without a route means that nothing was served, so it must be 0.
    const isFree = charge.provider === undefined && charge.chargeNusd === 0n;
    return { charge, result: isFree ? 'exact' : 'unknown', explained: undefined };
  }
  const explained = {
    leastNusd: least(possible.map(({ leastNusd }) => leastNusd)),
    mostNusd: most(possible.map(({ mostNusd }) => mostNusd)),
  };
  return { charge, result: resultOf(charge.chargeNusd, possible, explained), explained };
}

interface Span {
  readonly leastNusd: Nusd;
  readonly mostNusd: Nusd;
}

function resultOf(chargeNusd: Nusd, possible: readonly Span[], { leastNusd, mostNusd }: Span): ChargeFinding['result'] {
  if (possible.some((span) => chargeNusd === span.leastNusd)) return 'exact';
  if (chargeNusd < leastNusd) return 'below';
  if (possible.some((span) => span.leastNusd <= chargeNusd && chargeNusd <= span.mostNusd)) return 'within';
  return chargeNusd < mostNusd ? 'below' : 'above';
}

/** The possible costs of a charge at one price. */
function costsOf(charge: Charge, price: Price): Span[] {
  const { operation, promptTokens, cachedTokens, cacheWriteTokens, completionTokens, reasoningTokens } = charge;
  if (operation === 'image') return [exactly(cost({ ...noUsage, images: 1 }, price))];
  // A bill does not have the length of the text, so a whole number of characters must explain the charge.
  if (operation === 'speech') return speechCosts(charge.chargeNusd, price);
  const usage = { promptTokens, cachedTokens, completionTokens, reasoningTokens };
  const written = cacheWriteTokens === undefined ? [0, promptTokens] : [cacheWriteTokens];
  const both = written.map((tokens) => cost({ ...usage, cacheWriteTokens: tokens }, price));
  return [{ leastNusd: least(both), mostNusd: most(both) }];
}

const ascending = (amounts: readonly Nusd[]): Nusd[] => amounts.toSorted((a, b) => (a < b ? -1 : 1));
const least = (amounts: readonly Nusd[]): Nusd => ascending(amounts).at(0) ?? 0n;
const most = (amounts: readonly Nusd[]): Nusd => ascending(amounts).at(-1) ?? 0n;
const exactly = (nusd: Nusd): Span => ({ leastNusd: nusd, mostNusd: nusd });

function speechCosts(chargeNusd: Nusd, price: Price): Span[] {
  const ofCharacters = (inputCharacters: number): Nusd => cost({ ...noUsage, inputCharacters }, price);
  const pico = price.inputCharacter ?? 0;
  const characters = pico === 0 ? 0 : Math.min(maxSpeechCharacters, Number((chargeNusd * 1000n) / BigInt(pico)));
  return [exactly(ofCharacters(characters))];
}
