import { ServiceError } from '@sotto/wire';

export interface ConcurrencyLimitOptions {
  /** The number of tasks that run at a time. */
  readonly running: number;
  /** The number of tasks that may wait for their turn. */
  readonly waiting: number;
}

/** Limits tasks of all callers together, in the order in which they came. */
export class ConcurrencyLimit {
  readonly #options: ConcurrencyLimitOptions;
  readonly #line: (() => void)[] = [];
  #running = 0;

  constructor(options: ConcurrencyLimitOptions) {
    this.#options = options;
  }

  /** Runs a task when it is its turn. Throws `service_unavailable` if too many wait. */
  async run<Result>(task: () => Promise<Result>): Promise<Result> {
    if (this.#running < this.#options.running) this.#running += 1;
    else await this.#turn();
    try {
      return await task();
    } finally {
      const next = this.#line.shift();
      // The place goes to the next task without becoming free in between.
      if (next === undefined) this.#running -= 1;
      else next();
    }
  }

  #turn(): Promise<void> {
    if (this.#line.length >= this.#options.waiting) {
      throw new ServiceError('service_unavailable', {
        message:
          'Too many of these requests wait on this deployment. Nothing was done: send it again after `retry-after`.',
      });
    }
    return new Promise((resolve) => this.#line.push(resolve));
  }
}
