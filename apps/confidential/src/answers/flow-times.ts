/** During a pause of at least this length, the provider may have produced output that it does not show. */
const silentFromMs = 1_000;
/** A provider that breaks this soon after the client resumed may have broken because of the client. */
const heldBackGraceMs = 5_000;

export interface FlowTimesOptions {
  /** A clock in ms, which never steps. */
  readonly monotonicNow: () => number;
  /** How long a client must take nothing before this counts against it, in ms. */
  readonly heldBackFromMs: number;
}

/** Measures a stream from its first output to its end: how long it flowed, was held back and was silent. */
export class FlowTimes {
  readonly #now: () => number;
  readonly #heldBackFromMs: number;
  readonly #begunAt: number;
  #heardAt: number;
  #silentMs = 0;
  #heldBackSince: number | undefined;
  #heldBackMs = 0;
  #letGoAt = Number.NEGATIVE_INFINITY;

  constructor({ monotonicNow, heldBackFromMs }: FlowTimesOptions) {
    this.#now = monotonicNow;
    this.#heldBackFromMs = heldBackFromMs;
    this.#begunAt = monotonicNow();
    this.#heardAt = this.#begunAt;
  }

  /** Ends a silence of the provider. It counts if it was long, and if the client did not hold the stream back. */
  hear(now = this.#now()): void {
    const ms = now - this.#heardAt;
    if (this.#heldBackSince === undefined && ms >= silentFromMs) this.#silentMs += ms;
    this.#heardAt = now;
  }

  /** The client takes nothing from now on. */
  holdBack(): void {
    this.#heldBackSince = this.#now();
  }

  /** The client has taken everything. */
  letGo(): void {
    if (this.#heldBackSince === undefined) return;
    const now = this.#now();
    const ms = now - this.#heldBackSince;
    this.#heldBackMs += ms;
    this.#heldBackSince = undefined;
    this.#heardAt = now;
    if (ms >= this.#heldBackFromMs) this.#letGoAt = now;
  }

  /** Whether the client has taken nothing for this time, in ms. */
  isHeldBackFor(ms: number): boolean {
    return this.#heldBackSince !== undefined && this.#now() - this.#heldBackSince >= ms;
  }

  /** Whether a provider that breaks now may have broken because of the client. */
  get mayBreakOnClient(): boolean {
    return this.isHeldBackFor(this.#heldBackFromMs) || this.#now() - this.#letGoAt < heldBackGraceMs;
  }

  /** Returns the times of a stream that ends now. A silence before the end counts unless the client has left. */
  end(hasLeft: boolean) {
    const endedAt = this.#now();
    if (!hasLeft) this.hear(endedAt);
    const stillMs = this.#heldBackSince === undefined ? 0 : endedAt - this.#heldBackSince;
    return { flowMs: endedAt - this.#begunAt, heldBackMs: this.#heldBackMs + stillMs, silentMs: this.#silentMs };
  }
}
