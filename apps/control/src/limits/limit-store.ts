import type { FastifyRateLimitStore, FastifyRateLimitStoreCtor } from '@fastify/rate-limit';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import type { LimitKey } from './limit-key.ts';

/** A route that has a limit of its own; empty for a limit that belongs to no route. */
const ofRouteSchema = z.looseObject({
  routeInfo: z.looseObject({
    method: z.union([z.string(), z.array(z.string())]).default(''),
    url: z.string().default(''),
  }),
});

/**
 * Where @fastify/rate-limit counts, in place of its own store for Redis, which writes what is counted into the names of
 * keys. Here every name goes through `keyOf`, whatever a limit counts by.
 */
export const limitStore = (redis: Redis, keyOf: LimitKey): FastifyRateLimitStoreCtor =>
  class LimitStore implements FastifyRateLimitStore {
    #scope = '';

    incr(counted: string, done: Parameters<FastifyRateLimitStore['incr']>[1], windowMs: number): void {
      const key = keyOf(this.#scope + counted);
      // `NX`: the first attempt of a window begins it, and no later one makes it longer.
      redis
        .pipeline()
        .incr(key)
        .pexpire(key, windowMs, 'NX')
        .pttl(key)
        .exec()
        .then((replies) => {
          const [current, ttl] = [replies?.[0]?.[1], replies?.[2]?.[1]];
          if (typeof current === 'number' && typeof ttl === 'number') done(null, { current, ttl });
          else done(new Error('Redis did not count'));
        }, done);
    }

    child(options: unknown): LimitStore {
      const { method, url } = ofRouteSchema.parse(options).routeInfo;
      const store = new LimitStore();
      store.#scope = `${method} ${url} `;
      return store;
    }
  };
