import { ServiceError } from '@sotto/wire';

export interface TimeShareOptions {
  /** The part of the time that the work may take. */
  readonly part: number;
  /** Time in ms that it may take at once after a rest. */
  readonly burstMs: number;
  /** A clock in ms that never steps back. */
  readonly now: () => number;
}

/**
 * Limits the time that a process spends on work for callers without a credential. It counts no addresses, because many
 * users share the exit of a relay.
 */
export class TimeShare {
  readonly #options: TimeShareOptions;
  /** Time in ms that was used and is not earned back yet, as of `#countedAt`. */
  #usedMs = 0;
  #countedAt: number;

  constructor(options: TimeShareOptions) {
    this.#options = options;
    this.#countedAt = options.now();
  }

  /** Does the work. Throws `service_unavailable` if such work has taken its part of the time. */
  run<Result>(work: () => Result): Result {
    const { part, burstMs, now } = this.#options;
    const begunAt = now();
    this.#usedMs = Math.max(0, this.#usedMs - part * (begunAt - this.#countedAt));
    this.#countedAt = begunAt;
    if (this.#usedMs >= burstMs) {
      throw new ServiceError('service_unavailable', {
        message: 'Too many callers ask for this at once. Nothing was done: ask again after `retry-after`.',
      });
    }
    try {
      return work();
    } finally {
      this.#usedMs += now() - begunAt;
    }
  }
}
