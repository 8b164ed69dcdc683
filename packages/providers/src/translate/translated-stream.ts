import type { AttemptOutcome } from '@sotto/router';
import { type FinishReason, type ReasoningDetail, sseFrame } from '@sotto/wire';
import type { ChatStreamOptions, ChatStreamReader, ReportedUsage } from '../adapter.ts';
import type { ToolCallPiece } from '../openai/content.ts';
import { type CopiedRun, latin1 } from './copied-events.ts';
import { shownDetails } from './whole-answer.ts';

/** One piece of an answer on its way to the client. */
export interface AnswerPiece {
  readonly content?: string | undefined;
  readonly reasoning?: string | undefined;
  readonly details?: readonly ReasoningDetail[] | undefined;
  readonly toolCalls?: readonly ToolCallPiece[] | undefined;
  readonly finishReason?: FinishReason | undefined;
}

/**
 * A stream in a provider's own format, rewritten as chunks of OpenAI's shape. A subclass reads the format: it takes
 * bytes and reports pieces. This class writes and counts them, and ignores pieces after the end.
 */
export abstract class TranslatedStream implements ChatStreamReader {
  readonly #options: ChatStreamOptions;
  readonly #head: string;
  #out = '';
  #begun = false;
  #finished = false;
  #terminated = false;
  hasOutput = false;
  failure: AttemptOutcome | undefined;
  reported: ReportedUsage | undefined;
  producedBytes = 0;
  reportedAtBytes = 0;
  events = 0;

  constructor(options: ChatStreamOptions) {
    this.#options = options;
    const { id, created, model } = options.identity;
    this.#head = JSON.stringify({ id, object: 'chat.completion.chunk', created, model }).slice(0, -1);
  }

  get isComplete(): boolean {
    return this.#finished || this.#terminated;
  }

  get isTerminated(): boolean {
    return this.#terminated;
  }

  push(bytes: string): string {
    return this.#read(() => this.take(bytes));
  }

  end(): string {
    return this.#read(() => this.close());
  }

  /**
   * Takes bytes of the provider's stream, one character for each byte. An error that it throws makes the answer
   * malformed.
   */
  protected abstract take(bytes: string): void;
  /** Called when the provider has closed the stream. */
  protected abstract close(): void;

  /** Whether further input is ignored. */
  protected get isOver(): boolean {
    return this.#terminated || this.failure !== undefined;
  }

  /** Writes a piece. After its finish reason an answer has no more text, so later pieces are dropped. */
  protected write(piece: AnswerPiece): void {
    if (this.#finished || this.isOver) return;
    const { content, reasoning, toolCalls = [], finishReason } = piece;
    this.#count(piece);
    this.hasOutput ||= Boolean(content || reasoning || finishReason) || toolCalls.length > 0;
    this.#finished = finishReason !== undefined;
    const frame = this.frameFor(piece);
    this.#begun ||= frame !== '';
    this.#out += frame;
  }

  /** Returns the frame that clients get for a piece. Empty if all of the piece is hidden. */
  protected frameFor({ content, reasoning, toolCalls = [], finishReason, ...piece }: AnswerPiece): string {
    const { stripReasoning } = this.#options;
    const details = shownDetails(piece.details ?? [], stripReasoning);
    const shown = stripReasoning ? undefined : reasoning || undefined;
    const isEmpty = !content && shown === undefined && details.length === 0 && toolCalls.length === 0;
    if (isEmpty && finishReason === undefined) return '';
    const delta = {
      role: this.#begun ? undefined : 'assistant',
      content: content || undefined,
      reasoning: shown,
      reasoning_details: details.length === 0 ? undefined : details,
      tool_calls: toolCalls.length === 0 ? undefined : toolCalls,
    };
    const choices = [{ index: 0, delta, finish_reason: finishReason ?? null }];
    return latin1(sseFrame(`${this.#head},"choices":${JSON.stringify(choices)}}`));
  }

  /** Takes frames of text that were copied from the provider's events. */
  protected readonly copied = ({ frames, textBytes, events }: CopiedRun): void => {
    this.#out += frames;
    this.producedBytes += textBytes;
    this.events += events;
    this.hasOutput ||= textBytes > 0;
  };

  /** Records the provider's usage so far. The last report counts. */
  protected report(reported: ReportedUsage | undefined): void {
    if (reported === undefined) return;
    this.reported = reported;
    this.reportedAtBytes = this.producedBytes;
  }

  protected fail(outcome: AttemptOutcome): void {
    this.failure ??= outcome;
  }

  /** Records that the provider has said that nothing more follows. */
  protected terminate(): void {
    this.#terminated = true;
  }

  #count({ content = '', reasoning = '', toolCalls = [] }: AnswerPiece): void {
    this.producedBytes += Buffer.byteLength(content) + Buffer.byteLength(reasoning);
    for (const call of toolCalls) {
      this.producedBytes += Buffer.byteLength((call.function.name ?? '') + (call.function.arguments ?? ''));
    }
  }

  #read(parse: () => void): string {
    if (!this.isOver) {
      try {
        parse();
      } catch {
        this.fail('malformed_answer');
      }
    }
    const out = this.#out;
    this.#out = '';
    return out;
  }
}
