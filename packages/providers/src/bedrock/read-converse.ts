import type { ReasoningDetail } from '@sotto/wire';
import type { AnswerReading, ChatAnswer, ChatStreamOptions } from '../adapter.ts';
import { asArray, asObject, asString, parseJson } from '../json.ts';
import { writeWholeAnswer } from '../translate/whole-answer.ts';
import { readConverseUsage } from './converse-usage.ts';
import { reasoningDetail } from './reasoning-detail.ts';
import { finishReasonOf } from './stop-reason.ts';

/** Reads a whole answer of Converse. */
export function readConverse(body: Buffer, options: ChatStreamOptions): AnswerReading<ChatAnswer> {
  const raw = asObject(parseJson(body.toString('utf8')));
  const blocks = asArray(asObject(asObject(raw?.output)?.message)?.content);
  const finishReason = finishReasonOf(asString(raw?.stopReason) ?? 'malformed_model_output');
  if (blocks === undefined || finishReason === undefined) return { ok: false, outcome: 'malformed_answer' };
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
    const id = asString(called.toolUseId);
    const name = asString(called.name);
    if (id === undefined || name === undefined) return { ok: false, outcome: 'malformed_answer' };
    toolCalls.push({ id, name, arguments: JSON.stringify(called.input ?? {}) });
  }
  const reported = readConverseUsage(raw?.usage);
  return writeWholeAnswer({ content, reasoning, details, toolCalls, finishReason, reported }, options);
}
