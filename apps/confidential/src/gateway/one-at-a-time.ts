/** Thrown when too many tasks wait already, or when this one has waited too long. */
export class BusyError extends Error {}

interface QueueLimits {
  /** How many tasks may wait behind the running one. */
  readonly maxWaiting: number;
  /** How long a caller waits, its task's run included, in ms. */
  readonly patienceMs: number;
}

/**
 * Runs tasks one after the other. A caller that has waited too long is told so. Its task, once begun, still finishes
 * before the next one begins.
 */
export class OneAtATime {
  readonly #limits: QueueLimits;
  #last: Promise<unknown> = Promise.resolve();
  #unfinished = 0;

  constructor(limits: QueueLimits) {
    this.#limits = limits;
  }

  /** Rejects with `BusyError`, or as the task does. A task that is unwanted by its turn does not begin. */
  async run<T>(task: () => Promise<T>, isWanted: () => boolean = () => true): Promise<T> {
    if (this.#unfinished > this.#limits.maxWaiting) throw new BusyError();
    let isImpatient = false;
    const turn = this.inTurn(() => {
      if (isImpatient || !isWanted()) throw new BusyError();
      return task();
    });
    return this.patiently(turn, () => {
      isImpatient = true;
    });
  }

  /** Runs a task in its turn, however many wait. Rejects as the task does. */
  inTurn<T>(task: () => Promise<T>): Promise<T> {
    this.#unfinished += 1;
    const turn = this.#last.then(task);
    this.#last = turn
      .catch(() => {})
      .then(() => {
        this.#unfinished -= 1;
      });
    return turn;
  }

  /** Waits for an answer as long as a caller waits. Then calls `onLeft` and rejects with `BusyError`. */
  async patiently<T>(answer: Promise<T>, onLeft: () => void): Promise<T> {
    let timer: NodeJS.Timeout | undefined;
    const patience = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        onLeft();
        reject(new BusyError());
      }, this.#limits.patienceMs);
    });
    try {
      return await Promise.race([answer, patience]);
    } finally {
      clearTimeout(timer);
    }
  }
}
