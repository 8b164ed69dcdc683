import type { Adapter, AnswerReading } from '@sotto/providers';
import type { AttemptOutcome } from '@sotto/router';
import { Attempt, type AttemptFailure, type AttemptLimits } from './attempt.ts';

export type JsonResult<Answer> =
  | { readonly ok: true; readonly reading: Extract<AnswerReading<Answer>, { ok: true }> }
  | ({ readonly ok: false } & AttemptFailure);

export interface JsonAttemptOptions<Answer> {
  readonly adapter: Adapter;
  readonly limits: AttemptLimits;
  readonly read: (body: Buffer) => AnswerReading<Answer>;
  readonly onResult: (result: JsonResult<Answer>) => void;
}

/** A whole answer larger than this is not believed. */
const maxAnswerBytes = 64 * 1024 * 1024;

/** An attempt that wants one whole JSON answer. */
export class JsonAttempt<Answer> extends Attempt {
  readonly #options: JsonAttemptOptions<Answer>;
  readonly #body: Buffer[] = [];
  #bytes = 0;

  constructor(options: JsonAttemptOptions<Answer>) {
    super(options.adapter, options.limits);
    this.#options = options;
  }

  protected override onSuccess(): void {
    // Headers are no answer yet: some providers send them at once and then think, which the last candidate may.
  }

  protected override onAnswerBytes(bytes: Buffer): void {
    if (this.#bytes === 0) this.awaitMore();
    else this.heard();
    this.#body.push(bytes);
    this.#bytes += bytes.length;
    if (this.#bytes > maxAnswerBytes) this.giveUp('malformed_answer');
  }

  protected override onAnswerEnd(): void {
    const [first] = this.#body;
    const body = this.#body.length === 1 && first !== undefined ? first : Buffer.concat(this.#body);
    const reading = this.#options.read(body);
    this.finish();
    this.#options.onResult(reading.ok ? { ok: true, reading } : { ok: false, outcome: reading.outcome });
  }

  protected override onBroken(outcome: AttemptOutcome, retryAfterS?: number): void {
    this.finish();
    this.#options.onResult({ ok: false, outcome, retryAfterS });
  }
}
