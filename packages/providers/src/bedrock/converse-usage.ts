import type { ReportedUsage } from '../adapter.ts';
import { asCount, asObject } from '../json.ts';
import { reportedUsage } from '../translate/reported-usage.ts';

/**
 * Reads `usage`. Its `inputTokens` are what came neither from the cache nor went into it; how much of the output was
 * reasoning it does not tell.
 *
 * @see https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_TokenUsage.html
 */
export function readConverseUsage(value: unknown): ReportedUsage | undefined {
  const raw = asObject(value);
  const input = asCount(raw?.inputTokens);
  const completion = asCount(raw?.outputTokens);
  if (input === undefined || completion === undefined) return undefined;
  const cached = asCount(raw?.cacheReadInputTokens) ?? 0;
  const cacheWrite = asCount(raw?.cacheWriteInputTokens) ?? 0;
  return reportedUsage({ prompt: input + cached + cacheWrite, cached, cacheWrite, completion, reasoning: undefined });
}
