import type { AnswerReading, ChatAnswer, ChatStreamOptions, ReportedUsage } from '../adapter.ts';
import { asCount, asObject, exactObjectIn } from '../json.ts';
import { ToolCallIds } from '../openai/tool-call-ids.ts';
import { readingOf } from '../translate/malformed-answer.ts';
import { reportedUsage } from '../translate/reported-usage.ts';
import { writeWholeAnswer } from '../translate/whole-answer.ts';
import { candidateFailures, finishReasonOf, outcomeWithout, readCandidate } from './read-candidate.ts';

/** Reads a whole `GenerateContentResponse`. */
export const readGenerated = (body: Buffer, options: ChatStreamOptions): AnswerReading<ChatAnswer> =>
  readingOf(() => readWhole(body, options));

function readWhole(body: Buffer, options: ChatStreamOptions): AnswerReading<ChatAnswer> {
  const raw = exactObjectIn(body);
  if (raw === undefined) return { ok: false, outcome: 'malformed_answer' };
  const candidate = readCandidate(raw, new ToolCallIds(options.identity.id));
  if (candidate?.finishReason === undefined) {
    return { ok: false, outcome: outcomeWithout(raw) ?? 'malformed_answer' };
  }
  const { content, reasoning, details } = candidate;
  if (candidateFailures.has(candidate.finishReason)) return { ok: false, outcome: 'malformed_answer' };
  const finishReason = finishReasonOf(candidate.finishReason);
  const toolCalls = candidate.toolCalls.map(({ id = '', function: { name = '', arguments: args = '' } }) => ({
    id,
    name,
    arguments: args,
  }));
  const reported = readUsageMetadata(raw.usageMetadata);
  return writeWholeAnswer({ content, reasoning, details, toolCalls, finishReason, reported }, options);
}

/**
 * Reads `usageMetadata`. Thoughts are counted beside the candidates and billed like them. Cached tokens are part of the
 * prompt. A count of zero may be absent.
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
