import type { FinishReason, ReasoningDetail } from '@sotto/wire';
import type { AnswerReading, ChatAnswer, ChatStreamOptions, ReportedUsage } from '../adapter.ts';
import { chatAnswer } from './chat-answer.ts';

/** What a whole answer says, gathered from the provider's own shape. */
export interface WholeAnswer {
  readonly content: string;
  readonly reasoning: string;
  readonly details: readonly ReasoningDetail[];
  readonly toolCalls: readonly { readonly id: string; readonly name: string; readonly arguments: string }[];
  readonly finishReason: FinishReason;
  readonly reported: ReportedUsage | undefined;
}

/** Writes a whole answer in the shape of OpenAI, under our own id and model. */
export function writeWholeAnswer(
  said: WholeAnswer,
  { identity, stripReasoning }: ChatStreamOptions,
): AnswerReading<ChatAnswer> {
  const { content, reasoning, toolCalls, finishReason, reported } = said;
  const details = shownDetails(said.details, stripReasoning);
  const calls = toolCalls.map(({ id, ...called }) => ({ id, type: 'function' as const, function: called }));
  const produced = toolCalls.map((call) => call.name + call.arguments).join('');
  return {
    ok: true,
    answer: chatAnswer(
      identity,
      {
        content: content === '' && calls.length > 0 ? null : content,
        refusal: null,
        ...(reasoning === '' || stripReasoning ? {} : { reasoning }),
        ...(details.length === 0 ? {} : { reasoning_details: details }),
        ...(calls.length === 0 ? {} : { tool_calls: calls }),
      },
      finishReason,
    ),
    reported,
    producedBytes: Buffer.byteLength(content + reasoning + produced),
  };
}

/** The details that a client gets: where the trace is to be hidden, only what nobody but the provider can read. */
export const shownDetails = (details: readonly ReasoningDetail[], stripReasoning: boolean): ReasoningDetail[] =>
  details.filter(({ type }) => !stripReasoning || type === 'reasoning.encrypted');
