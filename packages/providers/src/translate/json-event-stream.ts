import type { AttemptOutcome } from '@sotto/router';
import { SseParser } from '@sotto/wire';
import { asObject, type JsonObject, parseJson } from '../json.ts';
import { unknownField } from '../stray-line.ts';
import { utf8 } from './bytes.ts';
import { TranslatedStream } from './translated-stream.ts';

/** A stream whose format is server-sent events of JSON objects. */
export abstract class JsonEventStream extends TranslatedStream {
  readonly #parser = new SseParser({
    onEvent: (data) => this.#event(data),
    onStray: (line) => this.#stray(line),
  });

  protected override take(bytes: string): void {
    this.#parser.push(bytes);
  }

  protected override close(): void {
    this.#parser.end();
  }

  /** Takes one event. */
  protected abstract event(event: JsonObject): void;
  /** What an object that is no event reports; undefined where it reports no failure. */
  protected abstract failureIn(body: JsonObject): AttemptOutcome | undefined;

  #event(data: string): void {
    if (this.isOver) return;
    this.events += 1;
    if (data.trim() === '') return;
    const event = asObject(parseJson(utf8(data)));
    if (event !== undefined) this.event(event);
    else if (!this.isComplete) this.fail('malformed_answer');
  }

  /** A line that is no event: a JSON error body inside a 200 stream, or noise. A field that nobody knows is ignored. */
  #stray(line: string): void {
    if (this.isOver || this.isComplete || unknownField.test(line)) return;
    this.fail(this.failureIn(asObject(parseJson(utf8(line))) ?? {}) ?? 'malformed_answer');
  }
}
