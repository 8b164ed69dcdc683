import type { ChatCompletion, FinishReason } from '@sotto/wire';
import type { AnswerIdentity, ChatAnswer } from '../adapter.ts';

type Message = ChatCompletion['choices'][number]['message'];

/** A whole answer of one choice, under our own id and model. */
export const chatAnswer = (
  identity: AnswerIdentity,
  message: Omit<Message, 'role'>,
  finishReason: FinishReason,
): ChatAnswer => ({
  ...identity,
  object: 'chat.completion',
  // A provider's own would tell which of its systems answered. OpenRouter's SDK rejects an answer without the field.
  system_fingerprint: '',
  choices: [{ index: 0, message: { role: 'assistant', ...message }, logprobs: null, finish_reason: finishReason }],
});
