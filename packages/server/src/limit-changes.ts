const everyMs = 60_000;
const most = 4;

interface Clock {
  /** A monotonic clock in ms. */
  readonly now: () => number;
  readonly later: (run: () => void, ms: number) => unknown;
}

const processClock: Clock = { now: () => performance.now(), later: (run, ms) => setTimeout(run, ms).unref() };

/**
 * Limits log lines about a state that changes often to four a minute. A change that is held back is written when the minute is over, if
 * it still holds, so that the last line says what is.
 */
export function limitChanges<State>(
  write: (state: State) => void,
  { now, later }: Clock = processClock,
): (state: State) => void {
  let times: number[] = [];
  let last: { readonly state: State } | undefined;
  let held: { readonly state: State } | undefined;
  const take = (state: State): void => {
    times = times.filter((at) => now() - at < everyMs);
    const [oldest] = times;
    if (oldest === undefined || times.length < most) {
      held = undefined;
      if (last !== undefined && last.state === state) return;
      last = { state };
      times.push(now());
      write(state);
      return;
    }
    const isWaiting = held !== undefined;
    held = { state };
    if (isWaiting) return;
    const next = (): void => {
      if (held !== undefined) take(held.state);
    };
    later(next, oldest + everyMs - now());
  };
  return take;
}
