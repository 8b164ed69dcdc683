/** Thrown if the state is unreachable, too slow or has lost data. Nothing was admitted, or the result is unknown. */
export class StateUnavailableError extends Error {
  /** False if nothing was sent, so that nothing can have happened. */
  readonly attempted: boolean;
  /** Why, in our words or by a code: never stored data. */
  readonly reason: string;

  constructor(reason: string, { attempted = true } = {}) {
    super(`state unavailable: ${reason}`);
    this.name = 'StateUnavailableError';
    this.attempted = attempted;
    this.reason = reason;
  }
}

/**
 * Runs an action for each item and continues after failures, because one unavailable node or one damaged record must not block the
 * others. Returns the first failure, which the caller throws at its end.
 */
export async function forEachReachable<T>(
  items: Iterable<T>,
  act: (item: T) => Promise<unknown>,
): Promise<StateUnavailableError | undefined> {
  let failure: StateUnavailableError | undefined;
  for (const item of items) {
    try {
      await act(item);
    } catch (error) {
      if (!(error instanceof StateUnavailableError)) throw error;
      failure ??= error;
    }
  }
  return failure;
}

/** Does the same for all items at once, whose steps then share calls to the state. */
export async function forAllReachable<T>(
  items: Iterable<T>,
  act: (item: T) => Promise<unknown>,
): Promise<StateUnavailableError | undefined> {
  const done = await Promise.allSettled(Array.from(items, async (item) => act(item)));
  const reasons: unknown[] = done.flatMap((each) => (each.status === 'rejected' ? [each.reason] : []));
  const other = reasons.find((reason) => !(reason instanceof StateUnavailableError));
  if (other !== undefined) throw other;
  return reasons.find((reason) => reason instanceof StateUnavailableError);
}
