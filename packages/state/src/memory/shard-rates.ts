import { boundedTokens } from '../bounds.ts';
import type { RateStatus } from '../ports/index.ts';
import type { Hold, Rate, ShardData } from './shard-data.ts';

/** Usage of rate limits in the present minute, by the shard's clock in ms. */

const minuteMs = 60_000;

/** Returns the usage of a key in this minute. */
export function usedRate({ rates }: ShardData, keyHash: string, now: number): Readonly<Rate> {
  const window = Math.floor(now / minuteMs);
  const rate = rates.get(keyHash);
  return rate?.window === window ? rate : { window, requests: 0, tokens: 0 };
}

export function countRequest(shard: ShardData, keyHash: string, estimatedTokens: number, now: number): void {
  const { window, requests, tokens } = usedRate(shard, keyHash, now);
  shard.rates.set(keyHash, { window, requests: requests + 1, tokens: tokens + estimatedTokens });
}

/** Replaces the estimate by the used tokens, while the minute is the same. */
export function correctTokens({ rates }: ShardData, ended: Hold, usedTokens: number): void {
  const rate = rates.get(ended.keyHash);
  if (rate === undefined || rate.window !== ended.window) return;
  rate.tokens = Math.max(0, rate.tokens - ended.estimatedTokens + boundedTokens(usedTokens));
}

export function rateStatus(shard: ShardData, keyHash: string, now: number): RateStatus {
  const used = usedRate(shard, keyHash, now);
  const { limitRequests, limitTokens } = shard.keys.get(keyHash)?.projection ?? { limitRequests: 0, limitTokens: 0 };
  return {
    limitRequests,
    remainingRequests: Math.max(0, limitRequests - used.requests),
    limitTokens,
    remainingTokens: Math.max(0, limitTokens - used.tokens),
    resetMs: (used.window + 1) * minuteMs - now,
  };
}

/** Removes past minutes. */
export function forgetRates({ rates }: ShardData, now: number): void {
  const window = Math.floor(now / minuteMs);
  for (const [hash, rate] of rates) if (rate.window < window - 1) rates.delete(hash);
}
