import type { AttemptOutcome } from '@sotto/router';
import { parseJson, SseParser, sseFrame } from '@sotto/wire';
import type { ChatStreamOptions, ChatStreamReader, ReportedUsage } from '../adapter.ts';
import { asObject, type JsonObject } from '../json.ts';
import { type CopiedRun, EventCopier, latin1, unknownField, utf8 } from '../translate/copied-events.ts';
import { type CompleteChunk, failedFinish, isOutput, readChunk, writeChunk } from './chunk.ts';
import { embeddedFailure } from './classify-failure.ts';
import { ThinkTags } from './think-tags.ts';
import { ToolCallIds } from './tool-call-ids.ts';

/**
 * Reads an OpenAI-shaped stream. Events that match a learned template are copied by bytes. All others are parsed,
 * validated and rewritten. Usage is held back for the meter, and `[DONE]` is left to the caller.
 */
export class OpenAiChatStream implements ChatStreamReader {
  readonly #options: ChatStreamOptions;
  readonly #parser: SseParser;
  readonly #copier: EventCopier;
  readonly #toolCallIds: ToolCallIds;
  /** Set if the reasoning trace is hidden, because the content may contain the trace, too. */
  readonly #thinkTags: ThinkTags | undefined;
  #hasRole = false;
  #out = '';
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

  get isComplete(): boolean {
    return this.#finished || this.#terminated;
  }

  get isTerminated(): boolean {
    return this.#terminated;
  }

  push(bytes: string): string {
    return this.#read(() => this.#copier.take(bytes, this.#parser, this.#mayCopy, this.#copied));
  }

  end(): string {
    return this.#read(() => this.#parser.end());
  }

  #read(parse: () => void): string {
    if (this.failure === undefined) {
      try {
        parse();
      } catch {
        this.failure = 'malformed_answer';
      }
    }
    const out = this.#out;
    this.#out = '';
    return out;
  }

  /** After its finish reason an answer has no more text. Its usage may still follow. */
  #isOver(): boolean {
    return this.#finished || this.#terminated || this.failure !== undefined;
  }

  readonly #mayCopy = (): boolean => !this.#isOver();

  readonly #copied = ({ frames, textBytes, events }: CopiedRun): void => {
    this.#out += frames;
    this.producedBytes += textBytes;
    this.events += events;
    this.hasOutput ||= textBytes > 0;
  };

  #event(data: string): void {
    if (this.#terminated || this.failure !== undefined) return;
    const copy = this.#finished ? undefined : this.#copier.copyEvent(data);
    if (copy !== undefined) {
      this.#copied(copy);
      return;
    }
    this.events += 1;
    this.#parsed(data);
  }

  #parsed(data: string): void {
    if (data.trim() === '[DONE]') {
      this.#terminated = true;
      return;
    }
    const raw = asObject(parseJson(utf8(data)));
    if (raw === undefined) {
      // After its finish reason the answer is whole, even if the rest of the stream is damaged.
      if (data.trim() !== '' && !this.#finished) this.failure = 'malformed_answer';
      return;
    }
    const read = readChunk(raw);
    const toolCalls = this.#toolCallIds.complete(read.toolCalls);
    if (read.finishReason !== undefined) toolCalls.push(...this.#toolCallIds.close());
    const { failure, finishReason } = read;
    if (failure !== undefined) {
      // A client that has the whole answer does not need to see a later failure.
      if (!this.#finished) this.failure = failure;
      return;
    }
    if (finishReason === failedFinish) {
      this.failure = 'server_error';
      return;
    }
    const chunk = { ...read, toolCalls, finishReason };
    // After its finish reason an answer is over, so drop any further output.
    if (chunk.hasChoice && (!this.#finished || chunk.finishReason)) {
      this.#write(chunk);
      this.#learn(data, chunk);
    }
    if (chunk.reported === undefined) return;
    this.reported = chunk.reported;
    this.reportedAtBytes = this.producedBytes;
  }

  #write(chunk: CompleteChunk): void {
    const { identity, stripReasoning } = this.#options;
    this.hasOutput ||= isOutput(chunk);
    this.#finished ||= chunk.finishReason !== undefined;
    this.producedBytes += Buffer.byteLength((chunk.content ?? '') + (chunk.reasoning ?? '') + (chunk.refusal ?? ''));
    for (const call of chunk.toolCalls) {
      this.producedBytes += Buffer.byteLength((call.function.name ?? '') + (call.function.arguments ?? ''));
    }
    const content = this.#shownContent(chunk);
    const hidden = stripReasoning && content === undefined && (chunk.reasoning ?? chunk.content) !== undefined;
    if (hidden && !chunk.role && chunk.finishReason === undefined && chunk.toolCalls.length === 0) return;
    // Clients rely on a role in the first delta, which some providers never send.
    const shown = { ...chunk, content, role: chunk.role || !this.#hasRole };
    this.#hasRole = true;
    this.#out += latin1(sseFrame(JSON.stringify(writeChunk(shown, identity, stripReasoning))));
  }

  /** Returns the content of an event without a hidden reasoning trace. */
  #shownContent({ content }: CompleteChunk): string | undefined {
    const tags = this.#thinkTags;
    if (tags === undefined || tags.isDone) return content;
    const text = tags.take(content ?? '') + (this.#finished ? tags.end() : '');
    return text === '' && content !== '' ? undefined : text;
  }

  #learn(data: string, chunk: CompleteChunk): void {
    if (!(chunk.content || chunk.reasoning)) return;
    if (chunk.content && this.#thinkTags?.isDone === false) return;
    this.#copier.learn(data);
  }

  /** Returns the frame for an event that carries only this text. Undefined if it carries more. */
  #frameFor(event: JsonObject, text: string): string | undefined {
    const { identity, stripReasoning } = this.#options;
    const { toolCalls, finishReason, ...read } = readChunk(event);
    const isReasoning = read.reasoning === text && read.content === undefined;
    const isContent = read.content === text && read.reasoning === undefined;
    const isPlain = toolCalls.length === 0 && finishReason === undefined && read.refusal === undefined;
    const isBare = read.failure === undefined && read.reported === undefined && event.usage == null;
    if (!(isContent || isReasoning) || !isPlain || !isBare) return undefined;
    if (isReasoning && stripReasoning) return '';
    const chunk = { ...read, toolCalls: [], finishReason: undefined };
    return latin1(sseFrame(JSON.stringify(writeChunk(chunk, identity, stripReasoning))));
  }

  /**
   * Handles a line outside the event format: a JSON error body inside a 200 stream, or noise, which means that this is
   * not a stream. A field that the format does not define is ignored.
   */
  #unknownLine(line: string): void {
    if (this.#isOver() || unknownField.test(line)) return;
    this.failure = embeddedFailure(asObject(parseJson(utf8(line))) ?? {}) ?? 'malformed_answer';
  }
}
