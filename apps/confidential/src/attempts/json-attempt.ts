import type { Adapter, AnswerReader, AnswerReading } from '@sotto/providers';
import type { AttemptOutcome } from '@sotto/router';
import { Attempt, type AttemptFailure, type AttemptLimits } from './attempt.ts';

export type JsonResult<Answer> =
  | { readonly ok: true; readonly reading: Extract<AnswerReading<Answer>, { ok: true }> }
  | ({ readonly ok: false } & AttemptFailure);

export interface JsonAttemptOptions<Answer> {
  readonly adapter: Adapter;
  readonly limits: AttemptLimits;
  readonly reader: AnswerReader<Answer>;
  /** A larger answer is not believed, or was never asked for rightly: `tooLarge` says which. */
  readonly maxBytes: number;
  readonly tooLarge?: AttemptFailure | undefined;
  readonly onResult: (result: JsonResult<Answer>) => void;
}

/** An attempt that wants one whole JSON answer. */
export class JsonAttempt<Answer> extends Attempt {
  readonly #options: JsonAttemptOptions<Answer>;
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
    this.#bytes += bytes.length;
    if (this.#bytes > this.#options.maxBytes) this.#refuse();
    else this.#options.reader.push(bytes);
  }

  #refuse(): void {
    this.abort();
    this.#options.onResult({ ok: false, ...(this.#options.tooLarge ?? { outcome: 'malformed_answer' }) });
  }

  protected override onAnswerEnd(): void {
    const reading = this.#options.reader.end();
    this.finish();
    this.#options.onResult(reading.ok ? { ok: true, reading } : { ok: false, outcome: reading.outcome });
  }

  protected override onBroken(outcome: AttemptOutcome, retryAfterS?: number): void {
    this.finish();
    this.#options.onResult({ ok: false, outcome, retryAfterS });
  }
}
