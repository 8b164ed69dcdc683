import type { AttemptOutcome } from '@sotto/router';
import { parseExactJson, parseJson, SseParser } from '@sotto/wire';
import type { ChatStreamOptions } from '../adapter.ts';
import { asObject, type JsonObject } from '../json.ts';
import { EventCopier, type TextEvents, unknownField, utf8 } from './copied-events.ts';
import { type AnswerPiece, TranslatedStream } from './translated-stream.ts';

/** A stream of server-sent events with JSON objects. */
export abstract class JsonEventStream extends TranslatedStream {
  readonly #parser = new SseParser({
    onEvent: (data) => this.#event(data),
    onUnknownLine: (line) => this.#unknownLine(line),
  });

  readonly #copier: EventCopier;

  /**
   * @param text - The fields that hold the text of events for `textIn`, and the lines before the data of such an event.
   *   Default: none, so that every event is parsed.
   */
  constructor(options: ChatStreamOptions, text: Pick<TextEvents, 'fields' | 'before'> = { fields: [], before: '' }) {
    super(options);
    this.#copier = new EventCopier({
      ...text,
      frameFor: (event, probe) => {
        const piece = this.textIn(event);
        return piece?.content === probe || piece?.reasoning === probe ? this.frameFor(piece) : undefined;
      },
    });
  }

  protected override take(bytes: string): void {
    this.#copier.take(bytes, this.#parser, this.mayCopy, this.copied);
  }

  protected override close(): void {
    this.#parser.end();
  }

  /** Takes one event that `textIn` does not read. */
  protected abstract event(event: JsonObject): void;
  /** Reads an event that does nothing but add text. Its other fields must not matter. Undefined for all other events. */
  protected textIn(_event: JsonObject): AnswerPiece | undefined {
    return undefined;
  }
  /** Returns the failure that an object outside an event reports, or undefined. */
  protected abstract failureIn(body: JsonObject): AttemptOutcome | undefined;

  #event(data: string): void {
    if (this.isOver) return;
    const copy = this.isComplete ? undefined : this.#copier.copyEvent(data);
    if (copy !== undefined) {
      this.copied(copy);
      return;
    }
    this.events += 1;
    if (data.trim() === '') return;
    const event = asObject(parseExactJson(utf8(data)));
    if (event === undefined) {
      this.fail('malformed_answer');
      return;
    }
    const piece = this.textIn(event);
    if (piece === undefined) this.event(event);
    else this.write(piece);
    if (piece?.content || piece?.reasoning) this.#copier.learn(data);
  }

  /**
   * Handles a line outside the event format: a JSON error body inside a 200 stream, or noise. An unknown field is
   * ignored.
   */
  #unknownLine(line: string): void {
    if (this.isOver || unknownField.test(line)) return;
    this.fail(this.failureIn(asObject(parseJson(utf8(line))) ?? {}) ?? 'malformed_answer');
  }
}
