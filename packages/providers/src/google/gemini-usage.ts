import type { ReportedUsage } from '../adapter.ts';
import { asCount, asObject } from '../json.ts';
import { reportedUsage } from '../translate/reported-usage.ts';

/**
 * Reads `usageMetadata`. Thoughts stand beside the candidates and are paid for like them; what is cached is part of the
 * prompt; a count of nothing may be left out.
 *
 * @see https://ai.google.dev/api/generate-content#UsageMetadata
 */
export function readUsageMetadata(value: unknown): ReportedUsage | undefined {
  const raw = asObject(value);
  const prompt = asCount(raw?.promptTokenCount);
  if (raw === undefined || prompt === undefined) return undefined;
  const reasoning = asCount(raw.thoughtsTokenCount);
  const toolUse = asCount(raw.toolUsePromptTokenCount) ?? 0;
  const total = asCount(raw.totalTokenCount);
  const rest = total === undefined ? undefined : Math.max(total - prompt - toolUse - (reasoning ?? 0), 0);
  const candidates = asCount(raw.candidatesTokenCount) ?? rest;
  if (candidates === undefined) return undefined;
  return reportedUsage({
    prompt: prompt + toolUse,
    cached: asCount(raw.cachedContentTokenCount) ?? 0,
    cacheWrite: 0,
    completion: candidates + (reasoning ?? 0),
    reasoning,
  });
}
