import type { AnswerReading, ChatAnswer, ChatStreamOptions } from '../adapter.ts';
import { asArray, asObject, asString, exactObjectIn, type JsonObject } from '../json.ts';
import { readingOf } from '../translate/malformed-answer.ts';
import { detailsField, reasoningFields, shownDetails } from '../translate/reasoning-details.ts';
import { plausibleUsage } from '../translate/reported-usage.ts';
import { finalReason, isCutOff } from '../translate/stop-reason.ts';
import { chatAnswer } from '../translate/whole-answer.ts';
import { failedFinish, readFinishReason } from './chunk.ts';
import { embeddedFailure } from './classify-failure.ts';
import { readContent, readToolCalls } from './content.ts';
import { withoutThinking } from './think-tags.ts';
import { ToolCallIds } from './tool-call-ids.ts';
import { readUsage } from './usage.ts';

/** Reads a whole chat completion and rewrites it under our own id and model. Only the first choice counts. */
export const readChat = (body: Buffer, options: ChatStreamOptions): AnswerReading<ChatAnswer> =>
  readingOf(() => readWhole(body, options));

function readWhole(body: Buffer, { identity, stripReasoning }: ChatStreamOptions): AnswerReading<ChatAnswer> {
  const raw = exactObjectIn(body);
  if (raw === undefined) return { ok: false, outcome: 'malformed_answer' };
  const failure = embeddedFailure(raw);
  if (failure !== undefined) return { ok: false, outcome: failure };
  const choice = asObject(asArray(raw.choices)?.[0]);
  const message = asObject(choice?.message);
  if (message === undefined) return { ok: false, outcome: 'malformed_answer' };
  const { content, reasoning, details } = readContent(message);
  const finishReason = readFinishReason(choice?.finish_reason);
  if (finishReason === failedFinish) return { ok: false, outcome: 'server_error' };
  const toolCalls = wholeToolCalls(message, new ToolCallIds(identity.id), isCutOff(finishReason));
  const refusal = asString(message.refusal) ?? null;
  const called = toolCalls.map((call) => call.function.name + call.function.arguments);
  const producedBytes = Buffer.byteLength((content ?? '') + (reasoning ?? '') + (refusal ?? '') + called.join(''));
  // Without a finish reason, an empty answer may be a failure. Let another route follow.
  if (finishReason === undefined && producedBytes === 0) return { ok: false, outcome: 'malformed_answer' };
  return {
    ok: true,
    answer: chatAnswer(
      identity,
      {
        content: content === undefined ? null : stripReasoning ? withoutThinking(content) : content,
        refusal,
        ...reasoningFields(stripReasoning ? undefined : reasoning),
        ...detailsField(shownDetails(details, stripReasoning)),
        ...(toolCalls.length === 0 ? {} : { tool_calls: toolCalls }),
      },
      finalReason(finishReason, toolCalls.length > 0),
    ),
    reported: plausibleUsage(readUsage(raw.usage), producedBytes),
    producedBytes,
  };
}

function wholeToolCalls(
  message: JsonObject,
  ids: ToolCallIds,
  isCut: boolean,
): { id: string; type: 'function'; function: { name: string; arguments: string } }[] {
  // Each entry is a whole call, whatever index it has.
  const entries = readToolCalls(message.tool_calls).map((call, index) => ({ ...call, index }));
  const calls: { id: string; type: 'function'; function: { name: string; arguments: string } }[] = [];
  for (const { index, id = '', function: called } of [...ids.complete(entries), ...ids.close(isCut)]) {
    calls[index] ??= { id, type: 'function', function: { name: called.name ?? '', arguments: '' } };
    calls[index].function.arguments += called.arguments ?? '';
  }
  return calls;
}
