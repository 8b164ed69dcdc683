import { type AnswerBlock, AnswerBlocks, type BlockListener, type BlockStart } from './answer-blocks.ts';
import { brokenOff, type ChatFailure, streamedFailure } from './chat-failure.ts';
import type { AnswerChunk, AnswerUsage } from './chat-stream.ts';
import type { StreamWriter } from './translation.ts';

/** The end of an answer that did not fail. */
export interface AnswerEnd {
  readonly finishReason: string;
  readonly usage: AnswerUsage | undefined;
}

/**
 * A streamed chat answer, rewritten as the events of a dialect. This class follows the answer from its start to its end
 * or failure. A subclass writes the events.
 */
export abstract class AnswerStream implements StreamWriter, BlockListener {
  readonly #blocks = new AnswerBlocks(this);
  #out = '';
  #isStarted = false;
  #isOver = false;
  #isWhole = false;
  #finishReason: string | undefined;
  #usage: AnswerUsage | undefined;

  get isWhole(): boolean {
    return this.#isWhole;
  }

  chunk(chunk: AnswerChunk): string {
    if (this.#isOver) return '';
    if (chunk.error !== undefined) return this.fail(streamedFailure(chunk.error));
    this.start(chunk);
    const choice = chunk.choices?.[0];
    if (choice?.delta !== undefined) this.#blocks.add(choice.delta);
    if (choice?.finish_reason != null) {
      this.#finishReason = choice.finish_reason;
      this.#blocks.finish();
    }
    if (chunk.usage !== undefined) this.#usage = chunk.usage;
    return this.#taken();
  }

  keepAlive(): string {
    if (this.#isOver) return '';
    this.writeKeepAlive();
    return this.#taken();
  }

  end(): string {
    if (this.#isOver) return '';
    if (this.#finishReason === undefined) return this.fail(brokenOff);
    this.#isOver = true;
    this.#isWhole = true;
    this.#blocks.finish();
    this.writeEnd({ finishReason: this.#finishReason, usage: this.#usage });
    return this.#taken();
  }

  fail(failure: ChatFailure): string {
    if (this.#isOver) return '';
    this.#isOver = true;
    this.writeFailure(failure);
    return this.#taken();
  }

  /** Why the answer ended, as soon as it is known. */
  protected get finishReason(): string | undefined {
    return this.#finishReason;
  }

  abstract onStart(block: BlockStart): void;
  abstract onText(text: string): void;
  abstract onEnd(block: AnswerBlock): void;

  /** Writes the events before the first block. The chunk is empty if none has arrived yet. */
  protected abstract writeStart(chunk: AnswerChunk): void;
  protected abstract writeKeepAlive(): void;
  protected abstract writeEnd(end: AnswerEnd): void;
  protected abstract writeFailure(failure: ChatFailure): void;

  /** Starts the answer unless it has started. */
  protected start(chunk: AnswerChunk): void {
    if (this.#isStarted) return;
    this.#isStarted = true;
    this.writeStart(chunk);
  }

  protected write(text: string): void {
    this.#out += text;
  }

  /** Writes an event, whose name is its type. */
  protected event(event: { readonly type: string; readonly [field: string]: unknown }): void {
    this.#out += `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
  }

  #taken(): string {
    const out = this.#out;
    this.#out = '';
    return out;
  }
}
