import type { AnswerBlock, BlockStart } from '../answer-blocks.ts';
import { type AnswerEnd, AnswerStream } from '../answer-stream.ts';
import type { ChatFailure } from '../chat-failure.ts';
import type { AnswerChunk } from '../chat-stream.ts';
import { sealSignature } from '../reasoning-envelope.ts';
import type { ToolNames } from '../tool-names.ts';
import { errorBody } from './errors.ts';
import { isShown, messageBlock, messageUsage, startedMessage, stopReason } from './write-message.ts';

/**
 * Writes a streamed chat answer as the events of the Messages API.
 *
 * @see https://platform.claude.com/docs/en/build-with-claude/streaming
 */
export class MessageStream extends AnswerStream {
  readonly #requested: string;
  #index = -1;
  #kind: BlockStart['kind'] | undefined;
  /** Whether the open block has its `content_block_start`. A thought gets one when its kind is known. */
  #isBegun = false;
  #calls = false;

  readonly #names: ToolNames;

  /** @param requested - the model that was asked for, in case that the answer never names one */
  constructor(requested: string, names: ToolNames) {
    super();
    this.#requested = requested;
    this.#names = names;
  }

  protected writeStart({ id, model = this.#requested }: AnswerChunk): void {
    this.event({ type: 'message_start', message: startedMessage(id, model) });
  }

  protected writeKeepAlive(): void {
    this.start({});
    this.event({ type: 'ping' });
  }

  protected writeEnd({ finishReason, usage }: AnswerEnd): void {
    const delta = { stop_reason: stopReason(finishReason, this.#calls), stop_sequence: null };
    this.event({ type: 'message_delta', delta, usage: messageUsage(usage) });
    this.event({ type: 'message_stop' });
  }

  protected writeFailure(failure: ChatFailure): void {
    this.event(errorBody(failure));
  }

  onStart(block: BlockStart): void {
    this.#index += 1;
    this.#kind = block.kind;
    this.#isBegun = false;
    if (block.kind !== 'call') return;
    this.#calls = true;
    this.#begin({ type: 'tool_use', id: block.id, name: this.#names.named(block.name).name, input: {} });
  }

  onText(text: string): void {
    switch (this.#kind) {
      case 'call':
        this.#delta({ type: 'input_json_delta', partial_json: text });
        return;
      case 'reasoning':
        this.#beginThought();
        this.#delta({ type: 'thinking_delta', thinking: text });
        return;
      default:
        this.#begin({ type: 'text', text: '' });
        this.#delta({ type: 'text_delta', text });
        return;
    }
  }

  onEnd(block: AnswerBlock): void {
    if (block.kind === 'reasoning') {
      if (isShown(block)) {
        this.#beginThought();
        this.#delta({ type: 'signature_delta', signature: sealSignature(block.details[0]) });
      } else this.#begin(messageBlock(block, this.#names));
    }
    this.event({ type: 'content_block_stop', index: this.#index });
  }

  #beginThought(): void {
    this.#begin({ type: 'thinking', thinking: '', signature: '' });
  }

  #begin(block: object): void {
    if (this.#isBegun) return;
    this.#isBegun = true;
    this.event({ type: 'content_block_start', index: this.#index, content_block: block });
  }

  #delta(delta: object): void {
    this.event({ type: 'content_block_delta', index: this.#index, delta });
  }
}
