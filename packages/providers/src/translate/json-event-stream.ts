import type { AttemptOutcome } from '@sotto/router';
import { parseJson, SseParser } from '@sotto/wire';
import { asObject, type JsonObject } from '../json.ts';
import { unknownField, utf8 } from './stream-text.ts';
import { TranslatedStream } from './translated-stream.ts';

/** A stream of server-sent events with JSON objects. */
export abstract class JsonEventStream extends TranslatedStream {
  readonly #parser = new SseParser({
    onEvent: (data) => this.#event(data),
    onUnknownLine: (line) => this.#unknownLine(line),
  });

  protected override take(bytes: string): void {
    this.#parser.push(bytes);
  }

  protected override close(): void {
    this.#parser.end();
  }

  /** Takes one event. */
  protected abstract event(event: JsonObject): void;
  /** Returns the failure that an object outside an event reports, or undefined. */
  protected abstract failureIn(body: JsonObject): AttemptOutcome | undefined;

  #event(data: string): void {
    if (this.isOver) return;
    this.events += 1;
    if (data.trim() === '') return;
    const event = asObject(parseJson(utf8(data)));
    if (event !== undefined) this.event(event);
    else if (!this.isComplete) this.fail('malformed_answer');
  }

  /**
   * Handles a line outside the event format: a JSON error body inside a 200 stream, or noise. An unknown field is
   * ignored.
   */
  #unknownLine(line: string): void {
    if (this.isOver || this.isComplete || unknownField.test(line)) return;
    this.fail(this.failureIn(asObject(parseJson(utf8(line))) ?? {}) ?? 'malformed_answer');
  }
}
