import type { AttemptOutcome } from '@sotto/router';
import { parseJson, SseParser, sseFrame } from '@sotto/wire';
import type { ChatStreamOptions, ChatStreamReader, ReportedUsage } from '../adapter.ts';
import { asObject } from '../json.ts';
import { latin1, unknownField, utf8 } from '../translate/stream-text.ts';
import { type CompleteChunk, failedFinish, isOutput, readChunk, writeChunk } from './chunk.ts';
import { type ChunkTemplate, copyRun, learnTemplate, matchTemplate, unescapedBytes } from './chunk-template.ts';
import { classifyEmbeddedError, embeddedError } from './classify-failure.ts';
import { ThinkTags } from './think-tags.ts';
import { ToolCallIds } from './tool-call-ids.ts';

/** Limit of learned templates. Content and reasoning need two; more than this means that the envelope never repeats. */
const maxTemplates = 4;
/** Limit of attempts to learn a template since the last event that one matched. */
const maxLearningTries = 12;

/**
 * Reads an OpenAI-shaped stream. Events that match a learned template are copied by bytes. All others are parsed,
 * validated and rewritten. Usage is held back for the meter, and `[DONE]` is left to the caller.
 */
export class OpenAiChatStream implements ChatStreamReader {
  readonly #options: ChatStreamOptions;
  readonly #parser: SseParser;
  readonly #templates: ChunkTemplate[] = [];
  readonly #toolCallIds: ToolCallIds;
  /** Set if the reasoning trace is hidden, because the content may contain the trace, too. */
  readonly #thinkTags: ThinkTags | undefined;
  #hasRole = false;
  #learningTries = 0;
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
    return this.#read(() => this.#take(bytes));
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

  /** Copies runs of events that match a template. All other events go through the parser, one by one. */
  #take(bytes: string): void {
    if (this.#templates.length === 0 || bytes.includes('\r')) {
      this.#parser.push(bytes);
      return;
    }
    let at = 0;
    while (at < bytes.length) {
      if (this.#parser.isBetweenEvents && !this.#isOver()) at = this.#copy(bytes, at);
      const blank = bytes.indexOf('\n\n', at);
      const end = blank === -1 ? bytes.length : blank + 2;
      if (at < end) this.#parser.push(at === 0 && end === bytes.length ? bytes : bytes.slice(at, end));
      at = end;
    }
  }

  /** After its finish reason an answer has no more text. Its usage may still follow. */
  #isOver(): boolean {
    return this.#finished || this.#terminated || this.failure !== undefined;
  }

  #copy(bytes: string, start: number): number {
    let at = start;
    for (const template of this.#templates) {
      const run = copyRun(bytes, at, template);
      if (run.events === 0) continue;
      this.#out += run.frames;
      this.#learningTries = 0;
      this.producedBytes += run.textBytes;
      this.events += run.events;
      this.hasOutput ||= run.textBytes > 0;
      at = run.end;
    }
    return at;
  }

  #event(data: string): void {
    if (this.#terminated || this.failure !== undefined) return;
    this.events += 1;
    for (const template of this.#finished ? [] : this.#templates) {
      const text = matchTemplate(data, template);
      if (text === undefined) continue;
      this.#learningTries = 0;
      this.producedBytes += unescapedBytes(text);
      if (text !== '') this.hasOutput = true;
      if (template.outHead !== '') this.#out += template.outHead + text + template.outTail;
      return;
    }
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
    const { error, finishReason } = read;
    if (error !== undefined) {
      // A client that has the whole answer does not need to see a later failure.
      if (!this.#finished) this.failure = classifyEmbeddedError(error);
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
    if (!(chunk.content || chunk.reasoning) || this.#learningTries >= maxLearningTries) return;
    if (chunk.content && this.#thinkTags?.isDone === false) return;
    this.#learningTries += 1;
    const template = learnTemplate(data, this.#options.identity, this.#options.stripReasoning);
    if (template === undefined) return;
    if (this.#templates.length >= maxTemplates) this.#templates.shift();
    this.#templates.push(template);
  }

  /**
   * Handles a line outside the event format: a JSON error body inside a 200 stream, or noise, which means that this is
   * not a stream. A field that the format does not define is ignored.
   */
  #unknownLine(line: string): void {
    if (this.#isOver() || unknownField.test(line)) return;
    const error = embeddedError(asObject(parseJson(utf8(line))) ?? {});
    this.failure = error === undefined ? 'malformed_answer' : classifyEmbeddedError(error);
  }
}
