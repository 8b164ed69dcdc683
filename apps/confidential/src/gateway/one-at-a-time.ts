/** Too many wait already, or this one has waited too long. */
export class BusyError extends Error {}

export interface QueueLimits {
  /** How many may wait behind the one that runs. */
  readonly maxWaiting: number;
  /** How long one may wait, its own run included, in ms. */
  readonly patienceMs: number;
}

/**
 * Runs tasks one after the other. Whoever loses patience is told so; its task, once begun, is waited for all the same before
 * the next one begins.
 */
export class OneAtATime {
  readonly #limits: QueueLimits;
  #last: Promise<unknown> = Promise.resolve();
  #unfinished = 0;

  constructor(limits: QueueLimits) {
    this.#limits = limits;
  }

  /** Rejects with `BusyError`, or as the task does. A task that is no longer wanted when its turn comes is not begun. */
  async run<T>(task: () => Promise<T>, isWanted: () => boolean = () => true): Promise<T> {
    if (this.#unfinished > this.#limits.maxWaiting) throw new BusyError();
    this.#unfinished += 1;
    let impatient = false;
    const turn = this.#last.then(() => {
      if (impatient || !isWanted()) throw new BusyError();
      return task();
    });
    this.#last = turn
      .catch(() => {})
      .then(() => {
        this.#unfinished -= 1;
      });
    let timer: NodeJS.Timeout | undefined;
    const patience = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        impatient = true;
        reject(new BusyError());
      }, this.#limits.patienceMs);
    });
    try {
      return await Promise.race([turn, patience]);
    } finally {
      clearTimeout(timer);
    }
  }
}
