import type { TokenBounds } from '@sotto/money';
import type { RequestSize } from './attempt-limits.ts';

/** Images and speech have flat prices: they use no tokens, of the balance or of the rate limits. */
export const noTokens: RequestSize = { promptTokensAtMost: 0, promptTokensLikely: 0, maxOutputTokens: undefined };

const flat = { promptTokens: 0, completionTokens: 0 } as const;

/** The most one image attempt can use: an image. */
export const imageBounds = (): TokenBounds => ({ ...flat, images: 1 });

/** The most one speech attempt can use: the whole text, in UTF-16 code units. */
export const speechBounds = (inputCharacters: number): TokenBounds => ({ ...flat, inputCharacters });
