/** How long a finished answer waits before its client gets the end anyway (design 4, step 7). */
const patienceMs = 250;

/** The patience of one answer: however much it waits for, it waits no longer than this together. */
export class Patience {
  #leftMs = patienceMs;

  /** Resolves when a task is over, however it ended, or patience has run out. */
  async wait(task: Promise<unknown>): Promise<void> {
    const begunAt = performance.now();
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, this.#leftMs);
      const over = (): void => {
        clearTimeout(timer);
        resolve();
      };
      task.then(over, over);
    });
    this.#leftMs = Math.max(0, this.#leftMs - (performance.now() - begunAt));
  }
}
