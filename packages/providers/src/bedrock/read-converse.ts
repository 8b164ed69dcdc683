import type { ReasoningDetail } from '@sotto/wire';
import type { AnswerReading, ChatAnswer, ChatStreamOptions, ReportedUsage } from '../adapter.ts';
import { asArray, asCount, asObject, asString, exactObjectIn } from '../json.ts';
import { readingOf } from '../translate/malformed-answer.ts';
import { reportedUsage } from '../translate/reported-usage.ts';
import { converseFailures, finishReasonOfConverse } from '../translate/stop-reason.ts';
import { wholeCall, withoutCutInput, writeWholeAnswer } from '../translate/whole-answer.ts';
import { reasoningDetail } from './reasoning.ts';

export const readConverse = (body: Buffer, options: ChatStreamOptions): AnswerReading<ChatAnswer> =>
  readingOf(() => readWhole(body, options));

function readWhole(body: Buffer, options: ChatStreamOptions): AnswerReading<ChatAnswer> {
  const raw = exactObjectIn(body);
  const blocks = asArray(asObject(asObject(raw?.output)?.message)?.content);
  const stopReason = asString(raw?.stopReason);
  if (blocks === undefined || stopReason === undefined || converseFailures.has(stopReason)) {
    return { ok: false, outcome: 'malformed_answer' };
  }
  const finishReason = finishReasonOfConverse(stopReason);
  let content = '';
  let reasoning = '';
  const details: ReasoningDetail[] = [];
  const toolCalls: { id: string; name: string; arguments: string }[] = [];
  for (const [index, entry] of blocks.entries()) {
    const block = asObject(entry) ?? {};
    content += asString(block.text) ?? '';
    const thought = asObject(block.reasoningContent);
    if (thought !== undefined) {
      const piece = asObject(thought.reasoningText) ?? thought;
      reasoning += asString(piece.text) ?? '';
      details.push(...reasoningDetail(piece, index));
    }
    const called = asObject(block.toolUse);
    if (called === undefined) continue;
    toolCalls.push(wholeCall({ id: asString(called.toolUseId), name: asString(called.name), input: called.input }));
  }
  const reported = readConverseUsage(raw?.usage);
  const calls = withoutCutInput(toolCalls, finishReason);
  return writeWholeAnswer({ content, reasoning, details, toolCalls: calls, finishReason, reported }, options);
}

/**
 * Reads `usage`. Its `inputTokens` exclude tokens that were read from the cache or written to it. It does not report
 * how many output tokens were reasoning.
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
