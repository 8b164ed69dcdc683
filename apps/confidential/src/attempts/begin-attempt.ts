import type { Adapter, AnswerReader, AnswerReading, RelayedRequest, Upstream, UpstreamRequest } from '@sotto/providers';
import type { AttemptOutcome } from '@sotto/router';
import { Attempt, type AttemptFailure, type AttemptLimits, type FailedAnswer } from './attempt.ts';
import type { FlowingAttempt, FlowingAttemptOptions, StreamStart } from './flowing-attempt.ts';
import type { AttemptResult, AttemptRun } from './try-routes.ts';

type JsonResult<Answer> =
  | { readonly ok: true; readonly reading: Extract<AnswerReading<Answer>, { ok: true }> }
  | ({ readonly ok: false } & AttemptFailure);

interface JsonAttemptOptions<Answer> {
  readonly adapter: Adapter;
  readonly limits: AttemptLimits;
  readonly reader: AnswerReader<Answer>;
  /** A larger answer fails the attempt: as `tooLarge` if that is given, otherwise as malformed. */
  readonly maxBytes: number;
  readonly tooLarge?: AttemptFailure | undefined;
  readonly onResult: (result: JsonResult<Answer>) => void;
}

/** An attempt that wants one whole JSON answer. */
class JsonAttempt<Answer> extends Attempt {
  readonly #options: JsonAttemptOptions<Answer>;
  #bytes = 0;

  constructor(options: JsonAttemptOptions<Answer>) {
    super(options.adapter, options.limits);
    this.#options = options;
  }

  protected override onSuccess(): void {
    // Headers are not output: some providers send them at once and then think. The limit for the first output stays.
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

  protected override onBroken(outcome: AttemptOutcome, answer?: FailedAnswer): void {
    this.finish();
    this.#options.onResult({ ok: false, outcome, ...answer });
  }
}

interface Call {
  readonly upstream: Upstream;
  readonly request: UpstreamRequest | RelayedRequest;
}

type Failed = Extract<StreamStart, { ok: false }>;

/** How to begin an attempt whose answer flows, and how to report its success. */
export interface FlowingCall<Flowing, Success> extends Call {
  readonly open: (onStart: FlowingAttemptOptions['onStart']) => Flowing;
  readonly success: (attempt: Flowing) => Success;
  /** How to report a failure before output; default: unchanged. */
  readonly failure?: (failed: Failed, attempt: Flowing) => Failed;
}

/** Begins an attempt whose answer flows. It succeeds with the first output. */
export function beginFlowing<Flowing extends FlowingAttempt, Success>({
  upstream,
  request,
  open,
  success,
  failure = (failed) => failed,
}: FlowingCall<Flowing, Success>): AttemptRun<Success> {
  const { promise: result, resolve } = Promise.withResolvers<AttemptResult<Success>>();
  const attempt: Flowing = open((start) =>
    resolve(start.ok ? { ok: true, success: success(attempt) } : failure(start, attempt)),
  );
  attempt.start(upstream, request);
  return { result, hasBegun: () => attempt.hasBegun, abort: () => attempt.abort() };
}

/** Begins an attempt that wants one whole JSON answer. It succeeds when all of the answer has come. */
export function beginWhole<Answer, Success>({
  upstream,
  request,
  success,
  ...options
}: Call &
  Omit<JsonAttemptOptions<Answer>, 'onResult'> & {
    readonly success: (reading: Extract<JsonResult<Answer>, { ok: true }>['reading']) => Success;
  }): AttemptRun<Success> {
  const { promise: result, resolve } = Promise.withResolvers<AttemptResult<Success>>();
  const attempt = new JsonAttempt<Answer>({
    ...options,
    onResult: (read) => resolve(read.ok ? { ok: true, success: success(read.reading) } : read),
  });
  attempt.start(upstream, request);
  return { result, hasBegun: () => attempt.hasBegun, abort: () => attempt.abort() };
}
