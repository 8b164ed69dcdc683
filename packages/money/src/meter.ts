import type { Nusd } from './amounts.ts';
import { cost, noUsage, type Usage } from './cost.ts';
import { capToHold } from './hold.ts';
import type { Price } from './price.ts';
import { type RequestEnd, whoPays } from './who-pays.ts';

/** How a request ended, what it used as far as is known, and at which price. */
export interface MeterReading {
  readonly end: RequestEnd;
  /** The provider's own usage; undefined where it reported none. */
  readonly reported: Usage | undefined;
  /** What the broker counted itself: an estimate of the prompt, and the bytes that the provider produced. */
  readonly counted: { readonly promptTokens: number; readonly producedBytes: number };
  readonly price: Price;
  readonly holdNusd: Nusd;
}

export interface Metered {
  readonly usage: Usage;
  readonly chargeNusd: Nusd;
  /** What the usage cost beyond the hold: the operator's. */
  readonly excessNusd: Nusd;
  /** True where the usage was counted by the broker. */
  readonly estimated: boolean;
}

/** Bytes of produced text to one token: what common tokenizers average on English text. */
export const bytesPerToken = 4;

/** The usage of a request whose provider reported none, or is not believed. */
export const countedUsage = ({ promptTokens, producedBytes }: MeterReading['counted']): Usage => ({
  ...noUsage,
  promptTokens,
  completionTokens: Math.ceil(producedBytes / bytesPerToken),
});

/** Turns the end of a request into its charge (design 5). A request that the operator pays for has a charge of 0. */
export function meter({ end, reported, counted, price, holdNusd }: MeterReading): Metered {
  if (end === 'no_output' || end === 'client_left_before_output') {
    return { usage: noUsage, chargeNusd: 0n, excessNusd: 0n, estimated: false };
  }
  const usage = reported ?? countedUsage(counted);
  const estimated = reported === undefined;
  // Of one that did not come to its end nobody has had anything where nothing was produced.
  const isFree = whoPays[end] === 'operator' || (end !== 'completed' && !hasProduct(usage));
  if (isFree) return { usage, chargeNusd: 0n, excessNusd: 0n, estimated };
  return { usage, ...capToHold(cost(usage, price), holdNusd), estimated };
}

/** Flat-priced operations are told to the meter once their output began: an image, or text of which some is spoken. */
const hasProduct = ({ completionTokens, images = 0, inputCharacters = 0 }: Usage): boolean =>
  completionTokens > 0 || images > 0 || inputCharacters > 0;
