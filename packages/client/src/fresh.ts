export interface FreshOptions<T> {
  readonly read: () => Promise<T>;
  readonly now: () => number;
  /** Time in ms after which the value is read again. */
  readonly freshMs: number;
  /** Time in ms before a value that could not be read is asked for again. */
  readonly retryMs: number;
}

/** A value of the service that changes at times. It is read when it is asked for and missing or old, once for all who wait. */
export class Fresh<T> {
  readonly #options: FreshOptions<T>;
  #known: T | undefined;
  #reading: Promise<T> | undefined;
  #readAgainAt = 0;

  constructor(options: FreshOptions<T>) {
    this.#options = options;
  }

  /** The value that was read last. */
  get known(): T | undefined {
    return this.#known;
  }

  /** Resolves to a value that is not old. Rejects if it cannot be read. */
  read(): Promise<T> {
    const { read, now, freshMs, retryMs } = this.#options;
    if (this.#reading !== undefined && now() < this.#readAgainAt) return this.#reading;
    this.#readAgainAt = now() + freshMs;
    this.#reading = read().then(
      (value) => {
        this.#known = value;
        return value;
      },
      (error: unknown) => {
        this.#readAgainAt = now() + retryMs;
        throw error;
      },
    );
    return this.#reading;
  }

  /** Makes the next `read` ask again. */
  expire(): void {
    this.#readAgainAt = 0;
  }
}
