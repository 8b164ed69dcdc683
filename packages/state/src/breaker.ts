import { StateUnavailableError } from './unavailable.ts';

export interface BreakerOptions {
  /** Failures in a row after which calls fail at once. */
  readonly threshold: number;
  /** How long they fail at once before one call is let through to try, in ms. */
  readonly openMs: number;
  /** A clock that never steps back, in ms. */
  readonly now: () => number;
  /** Called with each refusal: the store has answered, and did not do what was asked. */
  readonly onRefusal?: ((error: Error) => void) | undefined;
}

/**
 * A circuit breaker: a store that does not answer must not cost every request its full deadline. One call at a time
 * tries whether it answers again. A refusal is an answer: what one record is refused must not cut off all others.
 * Every failure of a call becomes a `StateUnavailableError`; a foreign error's message may quote what was stored.
 */
export class Breaker {
  readonly #options: BreakerOptions;
  #failures = 0;
  #openUntil = 0;
  #trying = false;

  constructor(options: BreakerOptions) {
    this.#options = options;
  }

  async run<T>(call: () => Promise<T>): Promise<T> {
    const isTrial = this.#failures >= this.#options.threshold;
    if (isTrial && (this.#trying || this.#options.now() < this.#openUntil)) {
      throw new StateUnavailableError('circuit open', { attempted: false });
    }
    if (isTrial) this.#trying = true;
    try {
      const result = await call();
      this.#failures = 0;
      return result;
    } catch (error) {
      this.#count(error);
      throw error instanceof StateUnavailableError ? error : new StateUnavailableError(kindOf(error));
    } finally {
      if (isTrial) this.#trying = false;
    }
  }

  #count(error: unknown): void {
    if (error instanceof Error && error.name === 'ReplyError') {
      this.#failures = 0;
      this.#options.onRefusal?.(error);
      return;
    }
    this.#failures += 1;
    if (this.#failures >= this.#options.threshold) this.#openUntil = this.#options.now() + this.#options.openMs;
  }
}

function kindOf(error: unknown): string {
  const name = error instanceof Error ? error.name : 'unknown';
  const code = error instanceof Error && error.message.match(/^[A-Z]{4,16}\b/)?.[0];
  return code ? `${name} ${code}` : name;
}
