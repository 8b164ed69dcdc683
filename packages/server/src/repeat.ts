/** A task that runs repeatedly, but never twice at the same time. */
export interface Repeated {
  start(): void;
  /** Resolves when the current run has ended. */
  stop(): Promise<void>;
}

/**
 * Repeats a task at an interval. A task that resolves to true has more work and runs again at once. A failure is passed
 * to `onFailed`, and the task runs again after the interval.
 */
export function repeat(
  intervalMs: number,
  task: () => Promise<unknown>,
  onFailed: (error: unknown) => void = () => {},
): Repeated {
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> = Promise.resolve();
  let stopped = false;
  const run = (): void => {
    running = task()
      .catch((error: unknown) => {
        onFailed(error);
        return false;
      })
      .then((more) => {
        if (!stopped) timer = setTimeout(run, more === true ? 0 : intervalMs).unref();
      });
  };
  return {
    start: run,
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await running;
    },
  };
}
