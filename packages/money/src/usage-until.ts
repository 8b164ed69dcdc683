import type { Usage } from './cost.ts';

/** The part of an answer that its client took before it left, in UTF-8 bytes of text. */
export interface TakenPart {
  readonly takenBytes: number;
  /** The bytes that the usage covers, which may include some from after the client left. */
  readonly coveredBytes: number;
  /** The most tokens of the usage that can stand for output without text, such as hidden reasoning. */
  readonly hiddenTokens: number;
}

/**
 * Returns the part of a provider's usage that was produced until the client left. Tokens of text are shared out by bytes.
 * They are at most one for each byte that the client took, because the provider may have produced more meanwhile than it
 * sent.
 */
export function usageUntil(usage: Usage, { takenBytes, coveredBytes, hiddenTokens }: TakenPart): Usage {
  const hidden = Math.min(hiddenTokens, usage.completionTokens);
  const shown = usage.completionTokens - hidden;
  const share = coveredBytes > takenBytes ? takenBytes / coveredBytes : 1;
  const completionTokens = hidden + Math.min(Math.ceil(shown * share), takenBytes);
  return { ...usage, completionTokens, reasoningTokens: Math.min(usage.reasoningTokens, completionTokens) };
}
