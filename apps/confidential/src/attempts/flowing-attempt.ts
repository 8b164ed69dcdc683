import type { Adapter } from '@sotto/providers';
import type { AttemptOutcome } from '@sotto/router';
import { Attempt, type AttemptFailure, type AttemptLimits, type FailedAnswer } from './attempt.ts';

/** Takes an answer once it has output. Strings are `latin1`, one character per byte. */
export interface StreamSink {
  write(piece: string | Buffer): void;
  /** The answer is over: whole, or broken off because the provider failed or fell silent. */
  end(ending: 'complete' | 'broke'): void;
}

/** The client's side of an attempt. It holds back what comes before the client is ready to take it. */
class Outlet {
  #sink: StreamSink | undefined;
  #keptBack: (string | Buffer)[] = [];
  #ending: 'complete' | 'broke' | undefined;

  /** Lets the answer flow, beginning with what was held back. Call it once. */
  flowTo(sink: StreamSink): void {
    this.#sink = sink;
    const keptBack = this.#keptBack;
    this.#keptBack = [];
    for (const piece of keptBack) sink.write(piece);
    if (this.#ending !== undefined) sink.end(this.#ending);
  }

  write(piece: string | Buffer): void {
    if (this.#sink !== undefined) {
      this.#sink.write(piece);
      return;
    }
    const last = this.#keptBack.at(-1);
    // Join the first frames of a stream, so that they leave in one write.
    if (typeof last === 'string' && typeof piece === 'string') this.#keptBack[this.#keptBack.length - 1] = last + piece;
    else this.#keptBack.push(piece);
  }

  end(ending: 'complete' | 'broke'): void {
    this.#ending = ending;
    this.#sink?.end(ending);
  }
}

export type StreamStart = { readonly ok: true } | ({ readonly ok: false } & AttemptFailure);

export interface FlowingAttemptOptions {
  readonly adapter: Adapter;
  readonly limits: AttemptLimits;
  /** Called once: with the first output, or with the failure before any output. */
  readonly onStart: (start: StreamStart) => void;
}

/** An attempt whose answer flows as it comes, once it has output. Until then another route can follow. */
export abstract class FlowingAttempt extends Attempt {
  readonly #onStart: FlowingAttemptOptions['onStart'];
  protected readonly outlet = new Outlet();
  #hasStarted = false;

  constructor({ adapter, limits, onStart }: FlowingAttemptOptions) {
    super(adapter, limits);
    this.#onStart = onStart;
  }

  /** Lets the answer flow, beginning with what was held back. Call it once, after a successful start. */
  flowTo(sink: StreamSink): void {
    this.outlet.flowTo(sink);
  }

  /** Whether the start was reported, with output or with a failure. */
  protected get hasStarted(): boolean {
    return this.#hasStarted;
  }

  /** Reports output. From here on no other route can follow. */
  protected begin(): void {
    this.#hasStarted = true;
    this.#onStart({ ok: true });
  }

  protected override onBroken(outcome: AttemptOutcome, answer?: FailedAnswer): void {
    this.finish();
    if (this.#hasStarted) {
      this.outlet.end('broke');
      return;
    }
    this.#hasStarted = true;
    this.#onStart({ ok: false, outcome, ...answer });
  }
}
