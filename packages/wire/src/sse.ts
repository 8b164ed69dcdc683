export interface SseParserOptions {
  /** Called for each event, with its data lines joined by `\n` and its `event:` name (empty if it has none). */
  readonly onEvent: (data: string, event: string) => void;
  /** Called for a line that is not a field of the event-stream format, such as a bare JSON body. */
  readonly onUnknownLine?: ((line: string) => void) | undefined;
  /** Most characters of one event. A longer event throws `SseEventTooLargeError`. Default 4 Mi. */
  readonly maxEventChars?: number | undefined;
}

export class SseEventTooLargeError extends Error {
  constructor(maxEventChars: number) {
    super(`A server-sent event exceeds ${maxEventChars} characters`);
    this.name = 'SseEventTooLargeError';
  }
}

const fieldNames = new Set(['data', 'event', 'id', 'retry']);

/**
 * Incremental parser of server-sent events (WHATWG HTML, section 9.2).
 *
 * Accepts text split anywhere. The framing is ASCII, so a caller may push decoded text (from a streaming `TextDecoder`) or one
 * character per byte (`latin1`), and gets the data back in the same form. Accepts `\n`, `\r\n` and `\r`, a missing
 * space after the colon, comments and, beyond the standard, a last event without its blank line.
 */
export class SseParser {
  readonly #onEvent: (data: string, event: string) => void;
  readonly #onUnknownLine: ((line: string) => void) | undefined;
  readonly #maxEventChars: number;
  #rest = '';
  #data: string | undefined;
  #event = '';
  #skipLineFeed = false;
  #started = false;

  constructor(options: SseParserOptions) {
    this.#onEvent = options.onEvent;
    this.#onUnknownLine = options.onUnknownLine;
    this.#maxEventChars = options.maxEventChars ?? 4 * 1024 * 1024;
  }

  /** Parses the next piece of the stream. Calls `onEvent` for each event that it completes. */
  push(text: string): void {
    let input = text;
    if (this.#skipLineFeed && input !== '') {
      this.#skipLineFeed = false;
      if (input.charCodeAt(0) === 10) input = input.slice(1);
    }
    if (input.includes('\r')) {
      // A `\r` at the very end may be half of a `\r\n`. It ends the line now, and a following `\n` is skipped.
      this.#skipLineFeed = input.endsWith('\r');
      input = input.replace(/\r\n?/g, '\n');
    }
    // Only the new text is searched. A long line in many pieces is joined once, when it ends.
    let end = input.indexOf('\n');
    if (end === -1) {
      this.#rest += input;
    } else {
      const buffer = this.#rest + input;
      end += this.#rest.length;
      let start = 0;
      for (; end !== -1; end = buffer.indexOf('\n', start)) {
        this.#line(buffer, start, end);
        start = end + 1;
      }
      this.#rest = buffer.slice(start);
    }
    if (this.#rest.length + (this.#data?.length ?? 0) > this.#maxEventChars) {
      throw new SseEventTooLargeError(this.#maxEventChars);
    }
  }

  /** Whether the text pushed so far ends with a complete event. */
  get isBetweenEvents(): boolean {
    return this.#started && this.#rest === '' && this.#data === undefined && this.#event === '' && !this.#skipLineFeed;
  }

  /** Ends the stream. Completes a last event without a blank line. */
  end(): void {
    const last = this.#rest;
    this.#rest = '';
    if (last !== '') this.#line(last, 0, last.length);
    this.#dispatch();
  }

  #line(buffer: string, start: number, end: number): void {
    let from = start;
    if (!this.#started) {
      this.#started = true;
      if (buffer.charCodeAt(from) === 0xfeff) from += 1;
      else if (buffer.startsWith('\u00ef\u00bb\u00bf', from)) from += 3;
    }
    if (from === end) {
      this.#dispatch();
    } else if (buffer.startsWith('data:', from)) {
      const value = buffer.slice(valueStart(buffer, from + 5), end);
      this.#data = this.#data === undefined ? value : `${this.#data}\n${value}`;
    } else if (buffer.startsWith('event:', from)) {
      this.#event = buffer.slice(valueStart(buffer, from + 6), end);
    } else if (buffer.charCodeAt(from) !== 58) {
      this.#other(buffer.slice(from, end));
    }
  }

  #other(line: string): void {
    const colon = line.indexOf(':');
    const name = colon === -1 ? line : line.slice(0, colon);
    if (name === 'data') this.#data = this.#data === undefined ? '' : `${this.#data}\n`;
    else if (!fieldNames.has(name)) this.#onUnknownLine?.(line);
  }

  #dispatch(): void {
    const data = this.#data;
    const event = this.#event;
    this.#data = undefined;
    this.#event = '';
    if (data !== undefined) this.#onEvent(data, event);
  }
}

const valueStart = (buffer: string, at: number): number => (buffer.charCodeAt(at) === 32 ? at + 1 : at);

/** The last event of a stream in OpenAI's form. */
export const sseDone = 'data: [DONE]\n\n';

/** A comment, which every parser skips. Programs and proxies give up an answer from which no bytes come. */
export const sseKeepAlive = ': keep-alive\n\n';

/** Writes one JSON payload (or any text) as a server-sent event. Line breaks become further `data:` lines. */
export function sseFrame(data: string): string {
  return data.includes('\n') || data.includes('\r')
    ? `data: ${data.replace(/\r\n?|\n/g, '\ndata: ')}\n\n`
    : `data: ${data}\n\n`;
}
