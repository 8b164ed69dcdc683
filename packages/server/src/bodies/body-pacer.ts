/** Size in bytes above which bodies are handled one after the other. One of this size takes some 3 ms to read. */
export const pacedBytes = 1024 * 1024;
/**
 * The time between two large bodies, as a multiple of the time until the first one was read. About as much again is
 * spent on it later: to write it for a provider, and to receive the next.
 */
const restPart = 5;

export interface BodyPacerOptions {
  /** A clock in ms that never steps back. */
  readonly now: () => number;
  /** Runs a task after the work that is now queued in the event loop. */
  readonly afterThisTurn: (task: () => void) => void;
  readonly after: (task: () => void, ms: number) => void;
}

/**
 * Hands large bodies to their handlers one after the other. To parse 30 MiB, and to write them for a provider, blocks
 * the event loop for a tenth of a second. After each one, the process works for others for some time. So clients that send
 * large bodies wait for each other, and not everybody for them.
 */
export class BodyPacer {
  readonly #options: BodyPacerOptions;
  readonly #line: (() => void)[] = [];
  #isBusy = false;

  constructor(options: BodyPacerOptions) {
    this.#options = options;
  }

  /** Calls `handOver` when it is this body’s turn. */
  take(handOver: () => void): void {
    this.#line.push(handOver);
    if (!this.#isBusy) this.#next();
  }

  #next(): void {
    const { now, after, afterThisTurn } = this.#options;
    const handOver = this.#line.shift();
    this.#isBusy = handOver !== undefined;
    if (handOver === undefined) return;
    const begunAt = now();
    afterThisTurn(() => after(() => this.#next(), restPart * (now() - begunAt)));
    handOver();
  }
}
