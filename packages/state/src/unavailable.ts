/** Where the state cannot be reached, is too slow or has lost its data: nothing was admitted, or nothing is known. */
export class StateUnavailableError extends Error {
  /** False where nothing was sent, so that nothing can have been done. */
  readonly attempted: boolean;

  constructor(reason: string, { attempted = true } = {}) {
    super(`state unavailable: ${reason}`);
    this.name = 'StateUnavailableError';
    this.attempted = attempted;
  }
}

/**
 * Does something for one after the other, though the state cannot do it for some: one node of a cluster that is away, or
 * one damaged record, must not keep the others waiting. Answers the first failure, for the caller to throw at its end.
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
