import type { AnswerReading, ChatAnswer, ChatStreamOptions } from '../adapter.ts';
import { asArray, asObject, asString, type JsonObject, objectIn } from '../json.ts';
import { plausibleUsage } from '../translate/reported-usage.ts';
import { chatAnswer } from '../translate/whole-answer.ts';
import { failedFinish, readFinishReason } from './chunk.ts';
import { embeddedFailure } from './classify-failure.ts';
import { readContent, readToolCalls } from './content.ts';
import { withoutThinking } from './think-tags.ts';
import { ToolCallIds } from './tool-call-ids.ts';
import { readUsage } from './usage.ts';

/** Reads a whole chat completion and rewrites it under our own id and model. Only the first choice counts. */
export function readChat(body: Buffer, { identity, stripReasoning }: ChatStreamOptions): AnswerReading<ChatAnswer> {
  const raw = objectIn(body);
  if (raw === undefined) return { ok: false, outcome: 'malformed_answer' };
  const failure = embeddedFailure(raw);
  if (failure !== undefined) return { ok: false, outcome: failure };
  const choice = asObject(asArray(raw.choices)?.[0]);
  const message = asObject(choice?.message);
  const said = asString(choice?.finish_reason);
  if (message === undefined || said === undefined) return { ok: false, outcome: 'malformed_answer' };
  const { content, reasoning } = readContent(message);
  const toolCalls = wholeToolCalls(message, new ToolCallIds(identity.id));
  // Some providers send an empty finish reason instead of `null`. A whole answer has ended, so derive the reason.
  const finishReason = readFinishReason(said || (toolCalls.length > 0 ? 'tool_calls' : 'stop'));
  if (finishReason === failedFinish) return { ok: false, outcome: 'server_error' };
  const refusal = asString(message.refusal) ?? null;
  const called = toolCalls.map((call) => call.function.name + call.function.arguments);
  const producedBytes = Buffer.byteLength((content ?? '') + (reasoning ?? '') + (refusal ?? '') + called.join(''));
  return {
    ok: true,
    answer: chatAnswer(
      identity,
      {
        content: content === undefined ? null : stripReasoning ? withoutThinking(content) : content,
        refusal,
        ...(reasoning === undefined || stripReasoning ? {} : { reasoning }),
        ...(toolCalls.length === 0 ? {} : { tool_calls: toolCalls }),
      },
      finishReason,
    ),
    reported: plausibleUsage(readUsage(raw.usage), producedBytes),
    producedBytes,
  };
}

function wholeToolCalls(
  message: JsonObject,
  ids: ToolCallIds,
): { id: string; type: 'function'; function: { name: string; arguments: string } }[] {
  return ids.complete(readToolCalls(message.tool_calls)).map((call) => ({
    id: call.id ?? '',
    type: 'function',
    function: { name: call.function.name ?? '', arguments: call.function.arguments || '{}' },
  }));
}
