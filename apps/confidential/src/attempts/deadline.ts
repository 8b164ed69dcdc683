/** The total time of one request over all its attempts. */
export class Deadline {
  readonly #timer: NodeJS.Timeout;
  #onExpired: (() => void) | undefined;
  #expired = false;

  constructor(totalMs: number) {
    this.#timer = setTimeout(() => {
      this.#expired = true;
      this.#onExpired?.();
    }, totalMs);
  }

  get expired(): boolean {
    return this.#expired;
  }

  /** Replaces what happens at expiry. */
  onExpired(callback: (() => void) | undefined): void {
    this.#onExpired = callback;
  }

  clear(): void {
    clearTimeout(this.#timer);
    this.#onExpired = undefined;
  }
}
