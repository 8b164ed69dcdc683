import { StateUnavailableError } from './unavailable.ts';

export interface BreakerOptions {
  /** Consecutive failures after which calls fail at once. */
  readonly threshold: number;
  /** Time in ms until one call may try again. */
  readonly openMs: number;
  /** Monotonic clock in ms. */
  readonly now: () => number;
  /** Called with each refusal: the store answered with an error. */
  readonly onRefusal?: ((error: Error) => void) | undefined;
  /** Why the store cannot be reached. Undefined: not known. */
  readonly cause?: (() => string | undefined) | undefined;
}

/**
 * A circuit breaker, so that an unresponsive store does not cost every request its full deadline. One call at a time tests whether
 * the store answers again. A refusal counts as an answer, because an error about one record must not block all others. Every
 * failure becomes a `StateUnavailableError`, because the message of a foreign error may quote stored data.
 */
export class Breaker {
  readonly #options: BreakerOptions;
  #failures = 0;
  #openUntil = 0;
  #trying = false;

  constructor(options: BreakerOptions) {
    this.#options = options;
  }

  /** Whether so many calls have failed that only one at a time may try. */
  get isOpen(): boolean {
    return this.#failures >= this.#options.threshold;
  }

  async run<T>(call: () => Promise<T>): Promise<T> {
    const isTrial = this.isOpen;
    if (isTrial && (this.#trying || this.#options.now() < this.#openUntil)) {
      throw new StateUnavailableError(this.#options.cause?.() ?? 'circuit open', { attempted: false });
    }
    if (isTrial) this.#trying = true;
    try {
      const result = await call();
      this.#failures = 0;
      return result;
    } catch (error) {
      this.#count(error);
      throw error instanceof StateUnavailableError ? error : new StateUnavailableError(this.#reasonOf(error));
    } finally {
      if (isTrial) this.#trying = false;
    }
  }

  /** Reports a refusal that was a part of an answer. */
  refusalOf(message: string): StateUnavailableError {
    const error = Object.assign(new Error(message), { name: 'ReplyError' });
    this.#options.onRefusal?.(error);
    return new StateUnavailableError(kindOf(error));
  }

  #reasonOf(error: unknown): string {
    return (isRefusal(error) ? undefined : this.#options.cause?.()) ?? kindOf(error);
  }

  #count(error: unknown): void {
    if (isRefusal(error)) {
      this.#failures = 0;
      this.#options.onRefusal?.(error);
      return;
    }
    this.#failures += 1;
    if (this.#failures >= this.#options.threshold) this.#openUntil = this.#options.now() + this.#options.openMs;
  }
}

const isRefusal = (error: unknown): error is Error => error instanceof Error && error.name === 'ReplyError';

function kindOf(error: unknown): string {
  const name = error instanceof Error && error.name !== 'Error' ? error.name : 'no answer';
  const code = error instanceof Error && error.message.match(/^[A-Z]{3,16}\b/)?.[0];
  return code ? `${name} ${code}` : name;
}
