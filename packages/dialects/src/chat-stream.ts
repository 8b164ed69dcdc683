import { type ChatChunk, type ChatCompletion, type ErrorEnvelope, SseParser } from '@sotto/wire';
import { asObject, parseJson } from './json.ts';

/** A chunk as the service sends it, or its error. Everything is optional, because it is read loosely. */
export type AnswerChunk = {
  readonly [Field in keyof (ChatChunk & ErrorEnvelope<string>)]?:
    | (ChatChunk & ErrorEnvelope<string>)[Field]
    | undefined;
};
export type ChunkDelta = NonNullable<ChatChunk['choices'][number]>['delta'];
export type AnswerUsage = ChatCompletion['usage'];
export type StreamedError = ErrorEnvelope<string>['error'];

export interface ChunkListener {
  chunk(chunk: AnswerChunk): void;
}

/** Reads the bytes of a streamed chat answer, split anywhere, as chunks. Its caller bounds the answer. */
export class ChatStreamReader {
  readonly #decoder = new TextDecoder();
  readonly #parser: SseParser;
  #isDone = false;
  #chunks = 0;

  constructor(listener: ChunkListener) {
    this.#parser = new SseParser({
      maxEventChars: Number.POSITIVE_INFINITY,
      onEvent: (event) => {
        if (event === '[DONE]') this.#isDone = true;
        if (this.#isDone) return;
        const chunk = asObject(parseJson(event));
        if (chunk === undefined) return;
        this.#chunks += 1;
        listener.chunk(chunk as AnswerChunk);
      },
    });
  }

  /** Takes the next bytes. Returns whether they only kept the connection alive: whole lines without a chunk. */
  push(bytes: Uint8Array): boolean {
    const before = this.#chunks;
    this.#parser.push(this.#decoder.decode(bytes, { stream: true }));
    return this.#chunks === before && !this.#isDone && this.#parser.isBetweenEvents;
  }

  /** Whether the service has said that nothing more comes. */
  get isDone(): boolean {
    return this.#isDone;
  }

  /** Ends the stream. A last event may lack its blank line. */
  end(): void {
    this.#parser.push(this.#decoder.decode());
    this.#parser.end();
  }
}
