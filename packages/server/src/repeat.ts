/** A task that a process starts and stops with itself. */
export interface Task {
  start(): void;
  /** Resolves when the task has ended. */
  stop(): Promise<void>;
}

/** A task that runs repeatedly, but never twice at the same time. */
export interface Repeated extends Task {
  /** Runs the task soon, instead of at the end of the interval: after the current run, if there is one. */
  wake(): void;
}

/**
 * Repeats a task at an interval. A task that resolves to true has more work and runs again at once. A failure is passed
 * to `onFailed`, and the task runs again after `pauseMs`, by default the interval, even if it is woken before. One run serves all that
 * wakes the task within `gatherMs`.
 */
export function repeat(
  intervalMs: number,
  task: () => Promise<unknown>,
  onFailed: (error: unknown) => void = () => {},
  { gatherMs = 10, pauseMs = intervalMs }: { readonly gatherMs?: number; readonly pauseMs?: number } = {},
): Repeated {
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> = Promise.resolve();
  let state: 'new' | 'waiting' | 'running' | 'stopped' = 'new';
  let woken = false;
  const runAfter = (ms: number): void => {
    clearTimeout(timer);
    timer = setTimeout(run, ms).unref();
  };
  const run = (): void => {
    state = 'running';
    woken = false;
    // In one callback, because a wake-up between two of them would be forgotten until the interval ends.
    const wait = (ms: number): void => {
      if (state === 'stopped') return;
      state = 'waiting';
      runAfter(ms);
    };
    running = task().then(
      (more) => wait(more === true ? 0 : woken ? gatherMs : intervalMs),
      (error: unknown) => {
        onFailed(error);
        // So that a wake-up does not cut the pause short.
        woken = true;
        wait(pauseMs);
      },
    );
  };
  return {
    start: run,
    wake() {
      if (state === 'waiting' && !woken) runAfter(gatherMs);
      woken = true;
    },
    async stop() {
      state = 'stopped';
      clearTimeout(timer);
      await running;
    },
  };
}
