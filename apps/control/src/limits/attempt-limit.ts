import { ServiceError } from '@sotto/wire';
import type { FastifyInstance, FastifyRequest } from 'fastify';

/** Counts an attempt under a key; throws `rate_limited` where it is one too many. */
export type AttemptLimit = (request: FastifyRequest, key: string) => Promise<void>;

export interface AttemptLimitOptions {
  /** What is counted; keys of different prefixes are different. */
  readonly prefix: string;
  readonly max: number;
  readonly windowMs: number;
}

/** A limit of its own beside those of routes. Where control runs as several processes on one Redis, they count together. */
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
