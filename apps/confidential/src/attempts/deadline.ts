/** Why a request must end now: its own time is over, or the process is shutting down. */
export type Expiry = 'out_of_time' | 'shut_down';

/** The deadlines of all running requests. */
export class Deadlines {
  readonly #open = new Set<Deadline>();
  #shutsDown = false;

  open(totalMs: number): Deadline {
    const deadline = new Deadline(totalMs, () => this.#open.delete(deadline));
    this.#open.add(deadline);
    if (this.#shutsDown) deadline.expire('shut_down');
    return deadline;
  }

  /**
   * Ends all requests, running and future ones, because the process is shutting down. Each ends with its own message.
   */
  shutDown(): void {
    this.#shutsDown = true;
    for (const deadline of this.#open) deadline.expire('shut_down');
  }
}

/** The total time of one request over all its attempts. */
export class Deadline {
  readonly #timer: NodeJS.Timeout;
  readonly #onCleared: () => void;
  #onExpired: ((why: Expiry) => void) | undefined;
  #expired: Expiry | undefined;

  constructor(totalMs: number, onCleared: () => void) {
    this.#onCleared = onCleared;
    this.#timer = setTimeout(() => this.expire('out_of_time'), totalMs);
  }

  /** Why the time is over; undefined while it is not. */
  get expired(): Expiry | undefined {
    return this.#expired;
  }

  /** Ends the time, if it has not ended yet. */
  expire(why: Expiry): void {
    if (this.#expired !== undefined) return;
    clearTimeout(this.#timer);
    this.#expired = why;
    this.#onExpired?.(why);
  }

  /** Replaces the callback for the expiry. */
  onExpired(callback: ((why: Expiry) => void) | undefined): void {
    this.#onExpired = callback;
  }

  /** Called when the request is over. */
  clear(): void {
    clearTimeout(this.#timer);
    this.#onExpired = undefined;
    this.#onCleared();
  }
}
