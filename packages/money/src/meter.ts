import type { Nusd } from './amounts.ts';
import { cost, noUsage, type Usage } from './cost.ts';
import { clampUsage, type TokenBounds } from './hold.ts';
import type { Price } from './price.ts';

/** How a request ended, its known usage and its price. */
export interface MeterReading {
  readonly end: RequestEnd;
  /** The provider's own usage. Undefined if it reported none. */
  readonly reported: Usage | undefined;
  readonly counted: CountedOutput;
  /** The most that the attempt could use. Its hold was computed from this. */
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
  /** The tokens that a byte of text stands for. Default: the average of common tokenizers on English text. */
  readonly tokensPerByte?: number;
  /** Estimated tokens of output that the provider does not show, such as hidden reasoning. */
  readonly hiddenTokens?: number;
}

export interface Metered {
  /** The usage, within the bounds of the hold. */
  readonly usage: Usage;
  readonly chargeNusd: Nusd;
  /** The part of the reported cost that the charge does not cover. The operator pays it. */
  readonly excessNusd: Nusd;
  /** True if the broker counted the usage, or its prompt. */
  readonly estimated: boolean;
  /** True if the ledger may waive the charge. */
  readonly waivable: boolean;
}

/** Bytes of text per token: the average of common tokenizers on English text. */
export const bytesPerToken = 4;

/** Estimates the usage of a request whose provider reported none, or an implausible one. */
export const countedUsage = ({
  promptTokens,
  producedBytes,
  tokensPerByte = 1 / bytesPerToken,
  hiddenTokens = 0,
}: CountedOutput): Usage => ({
  ...noUsage,
  promptTokens,
  completionTokens: Math.ceil(producedBytes * tokensPerByte) + hiddenTokens,
});

/** Computes the charge of a request from its end. The charge is 0 if the operator pays. */
export function meter({ end, reported, counted, bounds, price, holdNusd }: MeterReading): Metered {
  if (end === 'no_output') {
    return { usage: noUsage, chargeNusd: 0n, excessNusd: 0n, estimated: false, waivable: false };
  }
  // A provider that reports no prompt, such as one that took it from its cache, must not make it free.
  const isUntold = reported?.promptTokens === 0 && counted.promptTokens > 0;
  const all = isUntold ? { ...reported, promptTokens: counted.promptTokens } : (reported ?? countedUsage(counted));
  const usage = clampUsage(all, bounds);
  const estimated = isUntold || reported === undefined;
  // A client that left after output that nobody can count, such as encrypted reasoning, got as little as one that left before it.
  const waivable = whoPays[end] === 'client_unless_waived' || (end === 'client_left' && !hasProduct(usage));
  // A request that broke before any output is free, unless the client left or requested too much.
  const isBroken = end !== 'completed' && end !== 'answer_too_large' && !waivable;
  const isFree = whoPays[end] === 'operator' || (isBroken && !hasProduct(usage));
  if (isFree) return { usage, chargeNusd: 0n, excessNusd: 0n, estimated, waivable };
  const costNusd = cost(usage, price);
  const chargeNusd = costNusd < holdNusd ? costNusd : holdNusd;
  const excessNusd = estimated ? 0n : cost(all, price) - chargeNusd;
  return { usage, chargeNusd, excessNusd: excessNusd < 0n ? 0n : excessNusd, estimated, waivable };
}

/** Operations with a flat price report their product to the meter once output has begun. */
const hasProduct = ({ completionTokens, images = 0, inputCharacters = 0 }: Usage): boolean =>
  completionTokens > 0 || images > 0 || inputCharacters > 0;

/** How a request ended, as far as money is concerned. */
export type RequestEnd =
  /** The client received the whole answer, or could have. */
  | 'completed'
  /** The client left while the answer was being produced. */
  | 'client_left'
  /** The provider broke the stream after output. */
  | 'provider_broke'
  /** The provider broke the stream while the client applied back-pressure. */
  | 'provider_broke_while_held_back'
  /** The broker's time limit for the request ended after output. */
  | 'total_time_ran_out'
  /** The broker's process ended after output. */
  | 'shut_down'
  /** The broker's process ended while the client applied back-pressure. */
  | 'shut_down_while_held_back'
  /** The answer is longer than the broker can forward, and the client requested that much. */
  | 'answer_too_large'
  /** The client left while a provider was working, before any output. */
  | 'client_left_before_output'
  /** No output: refused, failed or timed out. */
  | 'no_output';

/**
 * The party that pays for a request. `client_unless_waived`: the client got nothing, but the provider may have worked for it. The
 * ledger waives such charges up to an allowance per account and hour. Cancelling an occasional request is therefore free, but a
 * client cannot make the operator pay for many.
 */
const whoPays = {
  completed: 'client',
  client_left: 'client',
  provider_broke: 'operator',
  provider_broke_while_held_back: 'client',
  total_time_ran_out: 'client',
  shut_down: 'operator',
  shut_down_while_held_back: 'client',
  answer_too_large: 'client',
  client_left_before_output: 'client_unless_waived',
  no_output: 'operator',
} as const satisfies Record<RequestEnd, 'client' | 'client_unless_waived' | 'operator'>;
