import { ServiceError } from '@sotto/wire';

export interface AtOnceOptions {
  /** The number of tasks that run at the same time. */
  readonly running: number;
  /** The number of further tasks that wait for their turn. */
  readonly waiting: number;
}

/**
 * Returns a function that runs tasks, at most so many at once and the others in the order in which they came. Throws
 * `service_unavailable` if too many wait already, before the task has begun.
 */
export function atOnce({ running, waiting }: AtOnceOptions): <T>(task: () => Promise<T>) => Promise<T> {
  const queue: (() => void)[] = [];
  let free = running;
  return async (task) => {
    if (free > 0) free -= 1;
    else if (queue.length >= waiting) throw overloaded();
    else await new Promise<void>((resolve) => queue.push(resolve));
    try {
      return await task();
    } finally {
      const next = queue.shift();
      // A task that ends hands its place on, so that no task that comes meanwhile overtakes.
      if (next === undefined) free += 1;
      else next();
    }
  };
}

const overloaded = (): ServiceError =>
  new ServiceError('service_unavailable', {
    message: 'More sign-ins come than can be served now. Nothing was done: send this one again after `retry-after`.',
  });
