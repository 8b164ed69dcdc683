import type { AnswerReader, AnswerReading } from './adapter.ts';

/** Buffers an answer until it ends, for a function that reads it in one step. */
export class BufferedReader<Answer> implements AnswerReader<Answer> {
  readonly #read: (body: Buffer) => AnswerReading<Answer>;
  readonly #body: Buffer[] = [];

  constructor(read: (body: Buffer) => AnswerReading<Answer>) {
    this.#read = read;
  }

  push(bytes: Buffer): void {
    this.#body.push(bytes);
  }

  end(): AnswerReading<Answer> {
    const [first] = this.#body;
    return this.#read(this.#body.length === 1 && first !== undefined ? first : Buffer.concat(this.#body));
  }
}
