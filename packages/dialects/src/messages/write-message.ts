import { type AnswerBlock, blocksOf, isCutOff, requireArguments } from '../answer-blocks.ts';
import { answerIdOf } from '../answer-id.ts';
import type { AnswerUsage } from '../chat-stream.ts';
import { asNumber } from '../json.ts';
import { sealReasoning, sealSignature } from '../reasoning-envelope.ts';
import type { ToolNames } from '../tool-names.ts';
import type { ChatAnswer } from '../translation.ts';

/** Writes a whole chat answer as a message. */
export function writeMessage({ id, model, choices: [choice], usage }: ChatAnswer, names: ToolNames): object {
  const blocks = blocksOf(choice?.message).filter((block) => !isCutOff(block, choice?.finish_reason));
  const calls = blocks.some(({ kind }) => kind === 'call');
  return {
    ...startedMessage(id, model),
    content: blocks.map((block) => messageBlock(block, names)),
    stop_reason: stopReason(choice?.finish_reason, calls),
    usage: messageUsage(usage),
  };
}

/** Writes a message before its first block. Its id is made from the id of the chat answer. */
export const startedMessage = (chatId: string | undefined, model: string): object => ({
  id: `msg_${answerIdOf(chatId)}`,
  type: 'message',
  role: 'assistant',
  model,
  content: [],
  stop_reason: null,
  stop_sequence: null,
  usage: messageUsage(undefined),
});

/**
 * Returns the reason for which an answer ended. A chat does not tell a stop sequence from the end of a turn, so
 * `stop_sequence` never occurs.
 */
export function stopReason(finishReason: string | null | undefined, calls: boolean): string {
  if (finishReason === 'length') return 'max_tokens';
  if (finishReason === 'content_filter') return 'refusal';
  return calls ? 'tool_use' : 'end_turn';
}

/**
 * Writes the counts of an answer. A chat counts cached tokens within the prompt's; the Messages API counts them apart.
 * Thoughts are counted only if the provider does.
 */
export function messageUsage(usage: AnswerUsage | undefined): object {
  const read = usage?.prompt_tokens_details?.cached_tokens ?? 0;
  const written = asNumber(usage?.prompt_tokens_details?.cache_write_tokens) ?? 0;
  const thoughts = usage?.completion_tokens_details?.reasoning_tokens;
  return {
    input_tokens: Math.max(0, (usage?.prompt_tokens ?? 0) - read - written),
    cache_creation_input_tokens: written,
    cache_read_input_tokens: read,
    output_tokens: usage?.completion_tokens ?? 0,
    ...(thoughts == null ? {} : { output_tokens_details: { thinking_tokens: thoughts } }),
  };
}

/** Writes a block of an answer as the Messages API does. Throws as `requireArguments` does: this API has no other input. */
export function messageBlock(block: AnswerBlock, names: ToolNames): object {
  switch (block.kind) {
    case 'reasoning':
      return isShown(block)
        ? { type: 'thinking', thinking: block.text, signature: sealSignature(block.details[0]) }
        : { type: 'redacted_thinking', data: sealReasoning(block) };
    case 'call': {
      const { name } = names.named(block.name);
      return { type: 'tool_use', id: block.id, name, input: requireArguments(block.text, name) };
    }
    default:
      return { type: 'text', text: block.text };
  }
}

/** Whether a thought has a text to show. One that only its provider can read is written as `redacted_thinking`. */
export const isShown = ({ text, details }: Extract<AnswerBlock, { kind: 'reasoning' }>): boolean =>
  text !== '' || details.every(({ type }) => type === 'reasoning.text');
