import type { ChatCompletion, FinishReason, ReasoningDetail } from '@sotto/wire';
import type { AnswerIdentity, AnswerReading, ChatAnswer, ChatStreamOptions, ReportedUsage } from '../adapter.ts';
import { MalformedAnswer } from './malformed-answer.ts';
import { detailsField, reasoningFields, shownDetails } from './reasoning-details.ts';
import { plausibleUsage } from './reported-usage.ts';
import { finalReason, isCutOff } from './stop-reason.ts';
import { argumentsText } from './tool-arguments.ts';

/** A whole answer, read from the provider's own shape. */
interface WholeAnswer {
  readonly content: string;
  readonly reasoning: string;
  readonly details: readonly ReasoningDetail[];
  readonly toolCalls: readonly { readonly id: string; readonly name: string; readonly arguments: string }[];
  /** Undefined if the provider gave none that we know. */
  readonly finishReason: FinishReason | undefined;
  readonly reported: ReportedUsage | undefined;
}

/** Writes a whole answer in OpenAI's shape, under our own id and model. */
export function writeWholeAnswer(
  said: WholeAnswer,
  { identity, stripReasoning }: ChatStreamOptions,
): AnswerReading<ChatAnswer> {
  const { content, reasoning, toolCalls, finishReason, reported } = said;
  const details = shownDetails(said.details, stripReasoning);
  const calls = toolCalls.map(({ id, ...called }) => ({ id, type: 'function' as const, function: called }));
  const called = toolCalls.map((call) => call.name + call.arguments).join('');
  const producedBytes = Buffer.byteLength(content + reasoning + called);
  return {
    ok: true,
    answer: chatAnswer(
      identity,
      {
        content: content === '' && calls.length > 0 ? null : content,
        refusal: null,
        ...reasoningFields(reasoning === '' || stripReasoning ? undefined : reasoning),
        ...detailsField(details),
        ...(calls.length === 0 ? {} : { tool_calls: calls }),
      },
      finalReason(finishReason, calls.length > 0),
    ),
    reported: plausibleUsage(reported, producedBytes),
    producedBytes,
  };
}

/** Reads a whole call. Throws `MalformedAnswer` if a client could not run it. */
export function wholeCall({
  id,
  name,
  input,
}: {
  readonly id: string | undefined;
  readonly name: string | undefined;
  readonly input: unknown;
}): {
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
} {
  if (!id || !name) throw new MalformedAnswer();
  return { id, name, arguments: argumentsText(input) || '{}' };
}

/**
 * Returns the calls of an API that writes `{}` as the input of a call that was cut off before its arguments. Such a call
 * gets no arguments, because its tool must not run without them.
 */
export function withoutCutInput<Call extends { readonly arguments: string }>(
  calls: readonly Call[],
  finishReason: FinishReason | undefined,
): readonly Call[] {
  const last = calls.at(-1);
  return isCutOff(finishReason) && last?.arguments === '{}' ? calls.with(-1, { ...last, arguments: '' }) : calls;
}

type Message = ChatCompletion['choices'][number]['message'];

/** A whole answer of one choice, under our own id and model. */
export const chatAnswer = (
  identity: AnswerIdentity,
  message: Omit<Message, 'role'>,
  finishReason: FinishReason,
): ChatAnswer => ({
  ...identity,
  object: 'chat.completion',
  // The provider's own value would reveal which of its systems answered. OpenRouter's SDK rejects an answer without the
  // field.
  system_fingerprint: '',
  choices: [{ index: 0, message: { role: 'assistant', ...message }, logprobs: null, finish_reason: finishReason }],
});
