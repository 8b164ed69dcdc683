import type { Adapter } from '@sotto/providers';
import type { AttemptOutcome } from '@sotto/router';
import { Attempt, type AttemptFailure, type AttemptLimits } from './attempt.ts';
import { Outlet, type StreamSink } from './outlet.ts';

export type StreamStart = { readonly ok: true } | ({ readonly ok: false } & AttemptFailure);

export interface FlowingAttemptOptions {
  readonly adapter: Adapter;
  readonly limits: AttemptLimits;
  /** Called once: with the first output, or with the failure before any. */
  readonly onStart: (start: StreamStart) => void;
}

/** An attempt whose answer flows on as it comes, once it has output; until then another route can follow. */
export abstract class FlowingAttempt extends Attempt {
  readonly #onStart: FlowingAttemptOptions['onStart'];
  protected readonly outlet = new Outlet();
  #hasStarted = false;

  constructor({ adapter, limits, onStart }: FlowingAttemptOptions) {
    super(adapter, limits);
    this.#onStart = onStart;
  }

  /** Lets the answer flow: what was kept back goes out first. Call once, after a successful start. */
  flowTo(sink: StreamSink): void {
    this.outlet.flowTo(sink);
  }

  /** Whether its start was told: with output, or with a failure. */
  protected get hasStarted(): boolean {
    return this.#hasStarted;
  }

  /** There is output: from here on no other route follows. */
  protected begin(): void {
    this.#hasStarted = true;
    this.#onStart({ ok: true });
  }

  protected override onBroken(outcome: AttemptOutcome, retryAfterS?: number): void {
    this.finish();
    if (this.#hasStarted) {
      this.outlet.end('broke');
      return;
    }
    this.#hasStarted = true;
    this.#onStart({ ok: false, outcome, retryAfterS });
  }
}
