import { type FinishReason, parseExactJson, parseJson, SseParser, sseFrame } from '@sotto/wire';
import type { ChatStreamOptions } from '../adapter.ts';
import { asObject, type JsonObject } from '../json.ts';
import { EventCopier, latin1, unknownField, utf8 } from '../translate/copied-events.ts';
import { MalformedAnswer } from '../translate/malformed-answer.ts';
import { isEncrypted } from '../translate/reasoning-details.ts';
import { AnswerStream } from '../translate/translated-stream.ts';
import { type CompleteChunk, failedFinish, isOutput, readChunk, withoutOutput, writeChunk } from './chunk.ts';
import { embeddedFailure } from './classify-failure.ts';
import type { ToolCallPiece } from './content.ts';
import { ThinkTags } from './think-tags.ts';
import { ToolCallIds } from './tool-call-ids.ts';
import { readUsage } from './usage.ts';

/**
 * Reads an OpenAI-shaped stream. Events that match a learned template are copied by bytes. All others are parsed,
 * validated and rewritten. Usage is held back for the meter, and `[DONE]` is left to the caller.
 */
export class OpenAiChatStream extends AnswerStream {
  readonly #options: ChatStreamOptions;
  readonly #parser: SseParser;
  readonly #copier: EventCopier;
  readonly #toolCallIds: ToolCallIds;
  /** Set if the reasoning trace is hidden, because the content may contain the trace, too. */
  readonly #thinkTags: ThinkTags | undefined;
  #isBegun = false;

  constructor(options: ChatStreamOptions) {
    super();
    this.#options = options;
    this.#toolCallIds = new ToolCallIds(options.identity.id);
    this.#thinkTags = options.stripReasoning ? new ThinkTags() : undefined;
    this.#copier = new EventCopier({
      fields: ['content', 'reasoning_content', 'reasoning'],
      before: '',
      frameFor: (event, text) => this.#frameFor(event, text),
    });
    this.#parser = new SseParser({
      onEvent: (data) => this.#event(data),
      onUnknownLine: (line) => this.#unknownLine(line),
    });
  }

  protected override take(bytes: string): void {
    this.#copier.take(bytes, this.#parser, this.mayCopy, this.copied);
  }

  protected override close(): void {
    this.#parser.end();
  }

  #event(data: string): void {
    if (this.isOver) return;
    const copy = this.isComplete ? undefined : this.#copier.copyEvent(data);
    if (copy !== undefined) {
      this.copied(copy);
      return;
    }
    this.events += 1;
    this.#parsed(data);
  }

  #parsed(data: string): void {
    if (data.trim() === '[DONE]') {
      this.terminate();
      return;
    }
    const raw = asObject(parseExactJson(utf8(data)));
    if (raw === undefined) {
      if (data.trim() !== '') this.fail('malformed_answer');
      return;
    }
    const read = readChunk(raw);
    const { failure, finishReason } = read;
    if (failure !== undefined) {
      this.fail(failure);
      return;
    }
    if (finishReason === failedFinish) {
      this.fail('server_error');
      return;
    }
    const toolCalls = this.#toolCallIds.complete(read.toolCalls);
    if (read.hasChoice) {
      // After its finish reason an answer has no more text, so only calls follow.
      const chunk = this.isComplete ? { ...withoutOutput, toolCalls } : { ...read, toolCalls, finishReason: undefined };
      const isEnd = finishReason !== undefined || this.isComplete || read.toolCalls.length > 0;
      if (!isEnd || isOutput(chunk)) this.#write(chunk);
      if (!isEnd) this.#learn(data, chunk);
    }
    if (finishReason !== undefined) {
      // Before the answer counts as output, so that another route can follow.
      if (this.#toolCallIds.lacksName) throw new MalformedAnswer();
      this.finish(finishReason);
    }
    this.report(read.usage, readUsage);
  }

  #write(chunk: CompleteChunk): void {
    const { stripReasoning } = this.#options;
    this.hasOutput ||= isOutput(chunk);
    this.count((chunk.content ?? '') + (chunk.reasoning ?? '') + (chunk.refusal ?? ''), chunk.toolCalls);
    const content = this.#shownContent(chunk);
    const hasTrace = (chunk.reasoning ?? chunk.content) !== undefined;
    const isHidden = stripReasoning && content === undefined && hasTrace && !chunk.refusal;
    if (isHidden && chunk.toolCalls.length === 0 && !chunk.details.some(isEncrypted)) return;
    this.#send({ ...chunk, content });
  }

  protected override closeCalls(isCut: boolean): readonly ToolCallPiece[] {
    return this.#toolCallIds.close(isCut);
  }

  protected override writeFinish(toolCalls: readonly ToolCallPiece[], finishReason: FinishReason): void {
    const tags = this.#thinkTags;
    const rest = tags === undefined || tags.isDone ? '' : tags.end();
    this.#send({ ...withoutOutput, content: rest || undefined, toolCalls, finishReason });
  }

  #send(chunk: CompleteChunk): void {
    this.send(latin1(sseFrame(JSON.stringify(writeChunk(chunk, this.#options, !this.#isBegun)))));
    this.#isBegun = true;
  }

  /** Returns the content of an event without a hidden reasoning trace. */
  #shownContent({ content }: CompleteChunk): string | undefined {
    const tags = this.#thinkTags;
    if (tags === undefined || tags.isDone) return content;
    const text = tags.take(content ?? '');
    return text === '' && content !== '' ? undefined : text;
  }

  #learn(data: string, chunk: CompleteChunk): void {
    if (!(chunk.content || chunk.reasoning)) return;
    if (chunk.content && this.#thinkTags?.isDone === false) return;
    this.#copier.learn(data);
  }

  /** Returns the frame for an event that carries only this text. Undefined if it carries more. */
  #frameFor(event: JsonObject, text: string): string | undefined {
    const { toolCalls, finishReason, ...read } = readChunk(event);
    const isReasoning = read.reasoning === text && read.content === undefined;
    const isContent = read.content === text && read.reasoning === undefined;
    const isPlain = toolCalls.length === 0 && finishReason === undefined && read.refusal === undefined;
    const isBare =
      read.failure === undefined && read.usage === undefined && event.usage == null && read.details.length === 0;
    if (!(isContent || isReasoning) || !isPlain || !isBare) return undefined;
    if (isReasoning && this.#options.stripReasoning) return '';
    // The event that taught the template came before, so this one is not the first.
    const chunk = { ...read, toolCalls: [], finishReason: undefined };
    return latin1(sseFrame(JSON.stringify(writeChunk(chunk, this.#options, false))));
  }

  /**
   * Handles a line outside the event format: a JSON error body inside a 200 stream, or noise, which means that this is
   * not a stream. A field that the format does not define is ignored.
   */
  #unknownLine(line: string): void {
    if (this.isOver || unknownField.test(line)) return;
    this.fail(embeddedFailure(asObject(parseJson(utf8(line))) ?? {}) ?? 'malformed_answer');
  }
}
