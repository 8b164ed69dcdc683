import type { AnswerReading, ChatAnswer, ChatStreamOptions } from '../adapter.ts';
import { asObject, parseJson } from '../json.ts';
import { ToolCallIds } from '../openai/tool-call-ids.ts';
import { writeWholeAnswer } from '../translate/whole-answer.ts';
import { readUsageMetadata } from './gemini-usage.ts';
import { PartialCalls } from './partial-calls.ts';
import { finishReasonOf, outcomeWithout, readCandidate } from './read-candidate.ts';

/** Reads a whole `GenerateContentResponse`. */
export function readGenerated(body: Buffer, options: ChatStreamOptions): AnswerReading<ChatAnswer> {
  const raw = asObject(parseJson(body.toString('utf8')));
  if (raw === undefined) return { ok: false, outcome: 'malformed_answer' };
  const calls = { ids: new ToolCallIds(options.identity.id), partial: new PartialCalls() };
  const candidate = readCandidate(raw, calls);
  if (candidate?.finishReason === undefined) {
    return { ok: false, outcome: outcomeWithout(raw) ?? 'malformed_answer' };
  }
  const { content, reasoning, details } = candidate;
  const finishReason = finishReasonOf(candidate.finishReason, candidate.toolCalls.length > 0);
  if (finishReason === undefined) return { ok: false, outcome: 'malformed_answer' };
  const toolCalls = candidate.toolCalls.map(({ id = '', function: { name = '', arguments: args = '' } }) => ({
    id,
    name,
    arguments: args,
  }));
  const reported = readUsageMetadata(raw.usageMetadata);
  return writeWholeAnswer({ content, reasoning, details, toolCalls, finishReason, reported }, options);
}
