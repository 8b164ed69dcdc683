import type { AttemptOutcome } from '@sotto/router';
import { type FinishReason, type ReasoningDetail, sseFrame } from '@sotto/wire';
import type { ChatStreamOptions, ChatStreamReader, ReportedUsage } from '../adapter.ts';
import { asObject, type JsonObject } from '../json.ts';
import type { ToolCallPiece } from '../openai/content.ts';
import { type CopiedRun, latin1 } from './copied-events.ts';
import { MalformedAnswer } from './malformed-answer.ts';
import { mergeUsage } from './merge-usage.ts';
import { reasoningFields, shownDetails } from './reasoning-details.ts';
import { plausibleUsage, type UsageReader } from './reported-usage.ts';
import { finalReason, isCutOff } from './stop-reason.ts';

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
  #reason: FinishReason | undefined;
  #hasCalls = false;
  /** Whether the usage came with the finish reason or after it, so that it covers the whole answer. */
  #isUsageFinal = false;
  /** Whether clients have the finish reason. */
  #isClosed = false;
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
    this.#read(() => this.take(bytes));
    return this.#taken();
  }

  end(): string {
    this.#read(() => this.close());
    this.#writeEnd();
    return this.#taken();
  }

  /**
   * Takes bytes of the provider's stream, one character for each byte. An error that it throws makes an unfinished
   * answer malformed.
   */
  protected abstract take(bytes: string): void;
  /** Called when the provider has closed the stream. */
  protected abstract close(): void;
  /** Returns the pieces of calls that are still held back. `isCut`: the answer was cut off. */
  protected abstract closeCalls(isCut: boolean): readonly ToolCallPiece[];
  /** Writes the end of a whole answer. */
  protected abstract writeFinish(toolCalls: readonly ToolCallPiece[], finishReason: FinishReason): void;

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
    this.#hasCalls ||= toolCalls.length > 0;
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
    this.#isUsageFinal = this.#finished;
  }

  /**
   * Records that the answer has its finish reason; undefined if it is not known. Clients get it with the end of the stream, because
   * some providers send further calls after it, each with a reason. A reason that says more than that the turn is over stays.
   */
  protected finish(reason: FinishReason | undefined): void {
    this.#finished = true;
    this.hasOutput = true;
    if (this.#reason === undefined || this.#reason === 'stop' || this.#reason === 'tool_calls') {
      this.#reason = reason ?? this.#reason;
    }
  }

  /** Records that the provider has said that nothing more follows. */
  protected terminate(): void {
    this.#terminated = true;
  }

  /** Records a failure. A client that has the whole answer does not need to see a later one. */
  protected fail(outcome: AttemptOutcome): void {
    if (!this.isComplete) this.failure ??= outcome;
  }

  #read(parse: () => void): void {
    if (this.isOver) return;
    this.#guarded(parse);
    if (this.#terminated) this.#writeEnd();
  }

  #writeEnd(): void {
    if (this.#isClosed || this.failure !== undefined || !this.isComplete) return;
    this.#isClosed = true;
    this.#guarded(() => {
      const calls = this.closeCalls(isCutOff(this.#reason));
      // Usage beside or after a finish reason covers calls that follow. Calls that were held back came before the usage.
      const isCovered = this.#isUsageFinal || this.reportedAtBytes === this.producedBytes;
      this.count('', calls);
      if (isCovered && this.reported !== undefined) this.reportedAtBytes = this.producedBytes;
      this.hasOutput ||= calls.length > 0;
      // A terminator without output is an empty answer. Clients get nothing of it, so that another route can follow.
      if (this.hasOutput) this.writeFinish(calls, finalReason(this.#reason, this.#hasCalls));
    });
  }

  #guarded(step: () => void): void {
    try {
      step();
    } catch (error) {
      // A client must not get an answer as whole whose calls cannot be read.
      if (error instanceof MalformedAnswer) this.failure ??= 'malformed_answer';
      // The rest of the stream cannot be read.
      else if (this.isComplete) this.terminate();
      else this.fail('malformed_answer');
    }
  }

  #taken(): string {
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
    this.#head = JSON.stringify({ id, object: 'chat.completion.chunk', created, model, system_fingerprint: '' }).slice(
      0,
      -1,
    );
  }

  /** Writes a piece. After its finish reason an answer has no more text, so only calls follow. */
  protected write(piece: AnswerPiece): void {
    if (this.isOver) return;
    const { content, reasoning, toolCalls = [] } = piece;
    const isLate = this.isComplete;
    this.count(isLate ? '' : (content ?? '') + (reasoning ?? ''), toolCalls);
    this.hasOutput ||= Boolean(content || reasoning) || toolCalls.length > 0;
    this.#writeFrame(isLate ? { toolCalls } : piece);
  }

  protected override writeFinish(toolCalls: readonly ToolCallPiece[], finishReason: FinishReason): void {
    this.#writeFrame({ toolCalls, finishReason });
  }

  #writeFrame(piece: AnswerPiece): void {
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
      ...reasoningFields(shown),
      reasoning_details: details.length === 0 ? undefined : details,
      tool_calls: toolCalls.length === 0 ? undefined : toolCalls,
    };
    const choices = [{ index: 0, delta, finish_reason: finishReason ?? null }];
    return latin1(sseFrame(`${this.#head},"choices":${JSON.stringify(choices)}}`));
  }
}
