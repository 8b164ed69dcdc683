import type { Adapter, ChatStreamReader, UpstreamHeaders } from '@sotto/providers';
import type { AttemptOutcome } from '@sotto/router';
import { Attempt, type AttemptFailure, type AttemptLimits } from './attempt.ts';
import { Outlet, type StreamSink } from './outlet.ts';

export type StreamStart = { readonly ok: true } | ({ readonly ok: false } & AttemptFailure);

export interface StreamAttemptOptions {
  readonly adapter: Adapter;
  readonly limits: AttemptLimits;
  readonly reader: ChatStreamReader;
  /** Called once: with the first output, or with the failure before any. */
  readonly onStart: (start: StreamStart) => void;
}

/** How much may come without being output before the answer counts as malformed (design 6, "first byte"). */
const maxSilentEvents = 64;
const maxSilentBytes = 256 * 1024;
/** After the terminator the provider should close; its connection is given this long to be kept for reuse. */
const lingerMs = 1000;

/** An attempt that wants a stream. Until there is output everything is kept back, so that another route can follow. */
export class StreamAttempt extends Attempt {
  readonly #options: StreamAttemptOptions;
  readonly reader: ChatStreamReader;
  readonly #outlet = new Outlet();
  #started = false;
  #silentBytes = 0;
  #json: Buffer[] | undefined;

  constructor(options: StreamAttemptOptions) {
    super(options.adapter, options.limits);
    this.#options = options;
    this.reader = options.reader;
  }

  /** Whether the answer is whole and only its usage is still to come: whoever leaves now has had all of it. */
  get awaitsUsage(): boolean {
    const { isComplete, reported, reportedAtBytes, producedBytes } = this.reader;
    return !this.isOver && isComplete && (reported === undefined || reportedAtBytes < producedBytes);
  }

  /** Lets the stream flow: what was kept back goes out first. Call once, after a successful start. */
  flowTo(sink: StreamSink): void {
    this.#outlet.flowTo(sink);
  }

  protected override onSuccess({ contentType }: UpstreamHeaders): void {
    // Some gateways answer a stream request with a JSON error under status 200.
    if (contentType.startsWith('application/json')) this.#json = [];
  }

  protected override onAnswerBytes(bytes: Buffer): void {
    if (this.#json !== undefined) {
      this.#json.push(bytes);
      this.#silentBytes += bytes.length;
      if (this.#silentBytes > maxSilentBytes) this.giveUp('malformed_answer');
      return;
    }
    this.#take(this.reader.push(bytes.toString('latin1')), bytes.length);
  }

  protected override onAnswerEnd(): void {
    if (this.#json !== undefined) {
      const reading = this.adapter.readChat(Buffer.concat(this.#json), {
        identity: { id: '', created: 0, model: '' },
        stripReasoning: true,
      });
      this.onBroken(reading.ok ? 'malformed_answer' : reading.outcome);
      return;
    }
    this.#take(this.reader.end(), 0);
    if (this.isOver) return;
    if (this.reader.isComplete) this.#complete();
    else this.onBroken('malformed_answer');
  }

  protected override onBroken(outcome: AttemptOutcome, retryAfterS?: number): void {
    this.finish();
    if (!this.#started) {
      this.#started = true;
      this.#options.onStart({ ok: false, outcome, retryAfterS });
    } else if (this.reader.isComplete && this.reader.failure === undefined) {
      // The answer was whole; only its closing words (usage, the terminator) never came.
      this.#outlet.end('complete');
    } else {
      this.#outlet.end('broke');
    }
  }

  #take(frames: string, bytes: number): void {
    const { reader } = this;
    if (this.#started) this.heard();
    if (frames !== '') this.#outlet.write(frames);
    if (reader.failure !== undefined) {
      this.giveUp(reader.failure);
      return;
    }
    if (!this.#started) {
      if (reader.hasOutput) {
        this.#started = true;
        this.awaitMore();
        this.#options.onStart({ ok: true });
      } else {
        this.#silentBytes += bytes;
        if (reader.events > maxSilentEvents || this.#silentBytes > maxSilentBytes) this.giveUp('malformed_answer');
      }
    }
    if (reader.isTerminated && !this.isOver) this.#complete();
  }

  #complete(): void {
    this.finish();
    if (!this.#started) {
      // A terminator without any output is an empty success, which nobody is served.
      this.#started = true;
      this.#options.onStart({ ok: false, outcome: 'malformed_answer' });
      return;
    }
    setTimeout(() => this.abort(), lingerMs).unref();
    this.#outlet.end('complete');
  }
}
