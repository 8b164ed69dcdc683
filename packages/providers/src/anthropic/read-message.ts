import type { ReasoningDetail } from '@sotto/wire';
import type { AnswerReading, ChatAnswer, ChatStreamOptions, ReportedUsage } from '../adapter.ts';
import { asArray, asCount, asObject, asString, exactObjectIn, type JsonObject } from '../json.ts';
import { readingOf } from '../translate/malformed-answer.ts';
import { detailFormats } from '../translate/reasoning-details.ts';
import { reportedUsage } from '../translate/reported-usage.ts';
import { finishReasonOfMessages } from '../translate/stop-reason.ts';
import { wholeCall, withoutCutInput, writeWholeAnswer } from '../translate/whole-answer.ts';
import { classifyEmbedded } from './classify-failure.ts';

/** Reads a whole message. It drops blocks of kinds that were not requested, such as the provider's own tools. */
export const readMessage = (body: Buffer, options: ChatStreamOptions): AnswerReading<ChatAnswer> =>
  readingOf(() => readWhole(body, options));

function readWhole(body: Buffer, options: ChatStreamOptions): AnswerReading<ChatAnswer> {
  const raw = exactObjectIn(body);
  if (raw?.type === 'error') return { ok: false, outcome: classifyEmbedded(raw.error) };
  const blocks = asArray(raw?.content);
  const stopReason = asString(raw?.stop_reason);
  if (blocks === undefined || stopReason === undefined) return { ok: false, outcome: 'malformed_answer' };
  let content = '';
  let reasoning = '';
  const details: ReasoningDetail[] = [];
  const toolCalls: { id: string; name: string; arguments: string }[] = [];
  for (const [index, entry] of blocks.entries()) {
    const block: JsonObject = asObject(entry) ?? {};
    if (block.type === 'text') content += asString(block.text) ?? '';
    else if (block.type === 'thinking') reasoning += asString(block.thinking) ?? '';
    else if (block.type === 'tool_use') {
      toolCalls.push(wholeCall({ id: asString(block.id), name: asString(block.name), input: block.input }));
    }
    details.push(...blockDetails(block, index));
  }
  const finishReason = finishReasonOfMessages(stopReason);
  const reported = readMessagesUsage(raw?.usage);
  const calls = withoutCutInput(toolCalls, finishReason);
  return writeWholeAnswer({ content, reasoning, details, toolCalls: calls, finishReason, reported }, options);
}

/** Returns the details that a client needs to send a block of thoughts back. */
export function blockDetails(block: JsonObject, index: number | undefined): ReasoningDetail[] {
  const format = detailFormats.anthropic;
  const signature = asString(block.signature);
  const data = asString(block.data);
  if (block.type === 'thinking' && signature) {
    return [{ type: 'reasoning.text', text: asString(block.thinking) ?? '', signature, format, index }];
  }
  return block.type === 'redacted_thinking' && data ? [{ type: 'reasoning.encrypted', data, format, index }] : [];
}

/**
 * Reads the `usage` of a message. Its `input_tokens` exclude tokens that were read from the cache or written to it. In
 * a stream it is that of the last `message_delta`, merged with that of `message_start`.
 */
export function readMessagesUsage(value: unknown): ReportedUsage | undefined {
  const raw = asObject(value);
  const input = asCount(raw?.input_tokens);
  const completion = asCount(raw?.output_tokens);
  if (raw === undefined || input === undefined || completion === undefined) return undefined;
  const cached = asCount(raw.cache_read_input_tokens) ?? 0;
  const cacheWrite = asCount(raw.cache_creation_input_tokens) ?? 0;
  const reasoning = asCount(asObject(raw.output_tokens_details)?.thinking_tokens);
  return reportedUsage({ prompt: input + cached + cacheWrite, cached, cacheWrite, completion, reasoning });
}
