import { answerChat, type ProviderHandler } from '../provider.ts';
import type { TokenPrices } from './spec.ts';

const usualTokens = { promptTokens: 10, completionTokens: 20 };

/** The text of a fake provider's usual answer. */
export const textOf = (id: string): string => `Greetings from ${id}, which behaves.`;

export const usualAnswer = (id: string): ProviderHandler => answerChat({ ...usualTokens, content: textOf(id) });

/** Returns the cost of the usual answer at a price, in nano-USD. */
export const usualCost = ([input, output]: TokenPrices): bigint =>
  BigInt(Math.round((usualTokens.promptTokens * input + usualTokens.completionTokens * output) * 1000));
