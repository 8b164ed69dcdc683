import type { AttemptOutcome } from '@sotto/router';
import { type FinishReason, type ReasoningDetail, sseFrame } from '@sotto/wire';
import type { ChatStreamOptions, ChatStreamReader, ReportedUsage } from '../adapter.ts';
import { asObject, type JsonObject } from '../json.ts';
import type { ToolCallPiece } from '../openai/content.ts';
import { type CopiedRun, latin1 } from './copied-events.ts';
import { mergeUsage } from './merge-usage.ts';
import { plausibleUsage, type UsageReader } from './reported-usage.ts';
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
 * One answer that is read from a provider's stream. A subclass reads the stream's format. This class keeps the frames
 * for the client and the state of the answer.
 */
export abstract class AnswerStream implements ChatStreamReader {
  #out = '';
  #finished = false;
  #terminated = false;
  #usage: JsonObject = {};
  hasOutput = false;
  failure: AttemptOutcome | undefined;
  reported: ReportedUsage | undefined;
  producedBytes = 0;
  reportedAtBytes = 0;
  events = 0;

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
   * Takes bytes of the provider's stream, one character for each byte. An error that it throws makes an unfinished
   * answer malformed.
   */
  protected abstract take(bytes: string): void;
  /** Called when the provider has closed the stream. */
  protected abstract close(): void;

  /** Whether further input is ignored. */
  protected get isOver(): boolean {
    return this.#terminated || this.failure !== undefined;
  }

  /** Whether text may be copied. After its finish reason an answer has no more text. Its usage may still follow. */
  protected readonly mayCopy = (): boolean => !this.isOver && !this.isComplete;

  /** Takes frames of text that were copied from the provider's events. */
  protected readonly copied = ({ frames, textBytes, events }: CopiedRun): void => {
    this.send(frames);
    this.producedBytes += textBytes;
    this.events += events;
    this.hasOutput ||= textBytes > 0;
  };

  protected send(frame: string): void {
    this.#out += frame;
  }

  /** Counts output. */
  protected count(text: string, toolCalls: readonly ToolCallPiece[]): void {
    this.producedBytes += Buffer.byteLength(text);
    for (const call of toolCalls) {
      this.producedBytes += Buffer.byteLength((call.function.name ?? '') + (call.function.arguments ?? ''));
    }
  }

  /** Records the provider's usage so far, as its API writes it. The last usable report counts. */
  protected report(usage: unknown, read: UsageReader): void {
    const later = asObject(usage);
    if (later === undefined) return;
    this.#usage = mergeUsage(this.#usage, later);
    const reported = plausibleUsage(read(this.#usage), this.producedBytes);
    if (reported === undefined) return;
    this.reported = reported;
    this.reportedAtBytes = this.producedBytes;
  }

  /** Records that the answer has its finish reason. */
  protected finish(): void {
    this.#finished = true;
  }

  /** Records that the provider has said that nothing more follows. */
  protected terminate(): void {
    this.#terminated = true;
  }

  /** Records a failure. A client that has the whole answer does not need to see a later one. */
  protected fail(outcome: AttemptOutcome): void {
    if (!this.isComplete) this.failure ??= outcome;
  }

  #read(parse: () => void): string {
    if (!this.isOver) {
      try {
        parse();
      } catch {
        // The rest of the stream cannot be read.
        if (this.isComplete) this.terminate();
        else this.fail('malformed_answer');
      }
    }
    const out = this.#out;
    this.#out = '';
    return out;
  }
}

/**
 * A stream in a provider's own format, rewritten as chunks of OpenAI's shape. A subclass reads the format: it takes
 * bytes and reports pieces. This class writes and counts them, and ignores pieces after the end.
 */
export abstract class TranslatedStream extends AnswerStream {
  readonly #options: ChatStreamOptions;
  readonly #head: string;
  #begun = false;

  constructor(options: ChatStreamOptions) {
    super();
    this.#options = options;
    const { id, created, model } = options.identity;
    this.#head = JSON.stringify({ id, object: 'chat.completion.chunk', created, model }).slice(0, -1);
  }

  /** Writes a piece. After its finish reason an answer has no more text, so later pieces are dropped. */
  protected write(piece: AnswerPiece): void {
    if (this.isComplete || this.isOver) return;
    const { content, reasoning, toolCalls = [], finishReason } = piece;
    this.count((content ?? '') + (reasoning ?? ''), toolCalls);
    this.hasOutput ||= Boolean(content || reasoning || finishReason) || toolCalls.length > 0;
    if (finishReason !== undefined) this.finish();
    const frame = this.frameFor(piece);
    this.#begun ||= frame !== '';
    this.send(frame);
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
}
