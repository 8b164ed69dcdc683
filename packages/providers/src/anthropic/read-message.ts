import type { ReasoningDetail } from '@sotto/wire';
import type { AnswerReading, ChatAnswer, ChatStreamOptions } from '../adapter.ts';
import { asArray, asObject, asString, type JsonObject, parseJson } from '../json.ts';
import { detailFormats } from '../translate/reasoning-details.ts';
import { writeWholeAnswer } from '../translate/whole-answer.ts';
import { classifyEmbedded } from './classify-failure.ts';
import { readMessagesUsage } from './messages-usage.ts';
import { finishReasonOf } from './stop-reason.ts';

/** Reads a whole message. Blocks of kinds that were never asked for (the provider's own tools) are left out. */
export function readMessage(body: Buffer, options: ChatStreamOptions): AnswerReading<ChatAnswer> {
  const raw = asObject(parseJson(body.toString('utf8')));
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
      const id = asString(block.id);
      const name = asString(block.name);
      if (id === undefined || name === undefined) return { ok: false, outcome: 'malformed_answer' };
      toolCalls.push({ id, name, arguments: JSON.stringify(block.input ?? {}) });
    }
    details.push(...blockDetails(block, index));
  }
  const finishReason = finishReasonOf(stopReason);
  const reported = readMessagesUsage(raw?.usage);
  return writeWholeAnswer({ content, reasoning, details, toolCalls, finishReason, reported }, options);
}

/** What a block of thoughts takes to be sent back. */
export function blockDetails(block: JsonObject, index: number | undefined): ReasoningDetail[] {
  const format = detailFormats.anthropic;
  const signature = asString(block.signature);
  const data = asString(block.data);
  if (block.type === 'thinking' && signature) {
    return [{ type: 'reasoning.text', text: asString(block.thinking) ?? '', signature, format, index }];
  }
  return block.type === 'redacted_thinking' && data ? [{ type: 'reasoning.encrypted', data, format, index }] : [];
}
