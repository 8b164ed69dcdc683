import type { Nusd } from './amounts.ts';
import { cost, noUsage, type Usage } from './cost.ts';
import { capToHold, clampUsage, type TokenBounds } from './hold.ts';
import type { Price } from './price.ts';
import { type RequestEnd, whoPays } from './who-pays.ts';

/** How a request ended, what it used as far as is known, and at which price. */
export interface MeterReading {
  readonly end: RequestEnd;
  /** The provider's own usage; undefined where it reported none. */
  readonly reported: Usage | undefined;
  readonly counted: CountedOutput;
  /** The most that the attempt could use: what its hold was computed from. */
  readonly bounds: TokenBounds;
  readonly price: Price;
  readonly holdNusd: Nusd;
}

/** The broker's own count of a request. */
export interface CountedOutput {
  /** An estimate of the prompt. */
  readonly promptTokens: number;
  /** UTF-8 bytes of text that the provider produced. */
  readonly producedBytes: number;
  /** An estimate of output that the provider produced and did not show, such as hidden reasoning. */
  readonly hiddenTokens?: number;
}

export interface Metered {
  /** What was used, within the bounds of the hold. */
  readonly usage: Usage;
  readonly chargeNusd: Nusd;
  /** The part of the reported usage's cost that the charge does not cover. The operator bears it. */
  readonly excessNusd: Nusd;
  /** True where the usage was counted by the broker. */
  readonly estimated: boolean;
  /** True where the ledger may waive the charge. */
  readonly waivable: boolean;
}

/** Bytes of produced text to one token: what common tokenizers average on English text. */
export const bytesPerToken = 4;

/** The usage of a request whose provider reported none, or is not believed. */
export const countedUsage = ({ promptTokens, producedBytes, hiddenTokens = 0 }: CountedOutput): Usage => ({
  ...noUsage,
  promptTokens,
  completionTokens: Math.ceil(producedBytes / bytesPerToken) + hiddenTokens,
});

/** Turns the end of a request into its charge. A request that the operator pays for has a charge of 0. */
export function meter({ end, reported, counted, bounds, price, holdNusd }: MeterReading): Metered {
  if (end === 'no_output') {
    return { usage: noUsage, chargeNusd: 0n, excessNusd: 0n, estimated: false, waivable: false };
  }
  const all = reported ?? countedUsage(counted);
  const usage = clampUsage(all, bounds);
  const estimated = reported === undefined;
  const waivable = whoPays[end] === 'client_unless_waived';
  // A request that broke off before it produced anything is free, unless the client gave it up or asked for too much.
  const isBroken = end !== 'completed' && end !== 'answer_too_large' && !waivable;
  const isFree = whoPays[end] === 'operator' || (isBroken && !hasProduct(usage));
  if (isFree) return { usage, chargeNusd: 0n, excessNusd: 0n, estimated, waivable };
  const { chargeNusd } = capToHold(cost(usage, price), holdNusd);
  const excessNusd = estimated ? 0n : cost(all, price) - chargeNusd;
  return { usage, chargeNusd, excessNusd: excessNusd < 0n ? 0n : excessNusd, estimated, waivable };
}

/** Operations with a flat price tell the meter of their product once its output began. */
const hasProduct = ({ completionTokens, images = 0, inputCharacters = 0 }: Usage): boolean =>
  completionTokens > 0 || images > 0 || inputCharacters > 0;
