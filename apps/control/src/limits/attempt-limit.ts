import { ServiceError } from '@sotto/wire';
import type { FastifyInstance, FastifyRequest } from 'fastify';

/** Counts an attempt under a key. Throws `rate_limited` if it exceeds the limit. */
export type AttemptLimit = (request: FastifyRequest, key: string) => Promise<void>;

export interface AttemptLimitOptions {
  /** Separates limits: keys with different prefixes are counted separately. */
  readonly prefix: string;
  readonly max: number;
  readonly windowMs: number;
}

/** Creates a limit besides those of routes. Control processes that share one Redis also share its counts. */
export function attemptLimit(app: FastifyInstance, { prefix, max, windowMs }: AttemptLimitOptions): AttemptLimit {
  const keys = new WeakMap<FastifyRequest, string>();
  const count = app.createRateLimit({
    max,
    timeWindow: windowMs,
    keyGenerator: (request) => `${prefix}:${keys.get(request) ?? ''}`,
  });
  return async (request, key) => {
    keys.set(request, key);
    const counted = await count(request);
    if (!counted.isAllowed && counted.isExceeded)
      throw new ServiceError('rate_limited', { retryAfterS: counted.ttl / 1000 });
  };
}
