/** Thrown when too many tasks wait already, or when this one has waited too long. */
export class BusyError extends Error {}

interface QueueLimits {
  /** How many tasks may wait behind the running one. Batches do not count. */
  readonly maxWaiting: number;
  /** How long a caller waits, its task's run included, in ms. */
  readonly patienceMs: number;
}

type Waiting = () => Promise<void>;

/**
 * Runs tasks one after the other. A caller that has waited too long is told so. Its task, once begun, still finishes
 * before the next one begins.
 *
 * A batch, which serves many callers, runs before all tasks that wait. Between two batches one task runs, so that neither
 * kind starves the other.
 */
export class OneAtATime {
  readonly #limits: QueueLimits;
  readonly #tasks: Waiting[] = [];
  readonly #batches: Waiting[] = [];
  #isRunning = false;

  constructor(limits: QueueLimits) {
    this.#limits = limits;
  }

  /** Rejects with `BusyError`, or as the task does. A task that is unwanted by its turn does not begin. */
  async run<T>(task: () => Promise<T>, isWanted: () => boolean = () => true): Promise<T> {
    if (this.#tasks.length >= this.#limits.maxWaiting) throw new BusyError();
    let isImpatient = false;
    const turn = this.#join(this.#tasks, async () => {
      if (isImpatient || !isWanted()) throw new BusyError();
      return task();
    });
    return this.patiently(turn, () => {
      isImpatient = true;
    });
  }

  /** Runs a batch next, however many tasks wait. Rejects as the batch does. */
  runBatch<T>(batch: () => Promise<T>): Promise<T> {
    return this.#join(this.#batches, batch);
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

  #join<T>(queue: Waiting[], run: () => Promise<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    queue.push(() => run().then(resolve, reject));
    if (!this.#isRunning) void this.#work();
    return promise;
  }

  async #work(): Promise<void> {
    this.#isRunning = true;
    // Each turn goes to the queue that did not have the last one, if anything waits there.
    let [last, other] = [this.#tasks, this.#batches];
    while (last.length + other.length > 0) {
      if (other.length > 0) [last, other] = [other, last];
      await last.shift()?.();
    }
    this.#isRunning = false;
  }
}
