/** A task that runs again and again, never twice at once. */
export interface Repeated {
  start(): void;
  /** Resolves when a run that is under way has ended. */
  stop(): Promise<void>;
}

/**
 * Repeats a task at an interval; a task that resolves to true has more to do and is run again at once.
 * What fails is told, and tried again.
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
