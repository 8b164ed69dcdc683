import { createHmac } from 'node:crypto';
import rateLimit, { type FastifyRateLimitStore, type FastifyRateLimitStoreCtor } from '@fastify/rate-limit';
import { networkOf } from '@sotto/server';
import { ServiceError } from '@sotto/wire';
import type { FastifyContextConfig, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Redis } from 'ioredis';
import * as z from 'zod';
import { derivedKey } from '../sessions/session-secrets.ts';
import { VerifiedCredentials, type VerifyCredentials } from './verified-credentials.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    limit?: RouteLimit;
  }
  interface FastifyInstance {
    /** Counts a request that asks for several things as `times` more requests. Throws `rate_limited` beyond the limit. */
    countFurther(request: FastifyRequest, reply: FastifyReply, times: number): Promise<void>;
  }
}

/** How a route’s limit differs from the limit of all routes. */
interface RouteLimit {
  /** Requests per minute, counted for this route alone. */
  readonly max: number;
  /**
   * Default: by account. `key`: by key, as inference is, or by session. `address`: even if the request has a credential. `nothing`: the route
   * has no limit.
   */
  readonly by?: 'key' | 'address' | 'nothing';
}

export interface RateLimitOptions {
  /** Requests per minute by the account of a valid credential, or by address without one. */
  readonly control: number;
  /** A connection for limits that several control processes share. Undefined: this process counts alone. */
  readonly redis: Redis | undefined;
  /** SESSION_SECRET. The names of counters in Redis are derived from it. */
  readonly sessionSecret: string;
  /** Whether a path is a file of the dashboard. The page loads dozens of them. */
  readonly isFile: (path: string) => boolean;
  readonly verify: VerifyCredentials;
  readonly now: () => number;
}

/** The counter of a request, and its limit per minute. */
interface Bucket {
  readonly key: string;
  readonly max: number;
}

/**
 * How many times the limit of requests an address may show made-up credentials that are looked up. So high that others at the
 * address are seldom affected, and so low that the lookups cannot keep the database busy.
 */
const failedLookups = 10;
/** The number of addresses and credentials that a process counts separately if it counts alone. */
const maxCounted = 50_000;

/**
 * Limits every request to control except health checks, the dashboard’s files and preflights, which cost less than the
 * count. A request with a valid credential counts by its account alone, and one with a key or access token apart from the
 * account's sessions. Many users may share an address, such as the exit of a relay, and one user may have many sessions and
 * keys. Requests without a credential count by address, and so do made-up
 * credentials. To verify costs one lookup, only for a credential that is well-formed and new, and an address may fail only ten
 * times as often as its limit. While the store is unavailable no limit applies, because the limits protect no money.
 */
export async function registerRateLimits(
  app: FastifyInstance,
  { control, redis, sessionSecret, isFile, verify, now }: RateLimitOptions,
): Promise<void> {
  const credentials = new VerifiedCredentials(verify, failedLookups * control, now);
  const buckets = new WeakMap<FastifyRequest, Bucket>();
  await app.register(rateLimit, {
    global: false,
    max: (request) => buckets.get(request)?.max ?? control,
    timeWindow: '1 minute',
    keyGenerator: (request) => buckets.get(request)?.key ?? '',
    skipOnError: true,
    ...(redis === undefined ? { cache: maxCounted } : { store: limitStore(redis, limitKeys(sessionSecret)) }),
  });
  const count = app.createRateLimit();
  const countRequest = async (request: FastifyRequest): Promise<Counted> => {
    const found = await count(request);
    if (found.isAllowed) throw new Error('a limiter without an allow list has allowed a request');
    return found;
  };

  const first = new WeakMap<FastifyRequest, Counted>();
  app.decorate('countFurther', async (request, reply, times) => {
    const before = first.get(request);
    if (before === undefined || times === 0) return;
    // A request that does not fit as a whole uses up nothing.
    if (before.remaining < times) throw new ServiceError('rate_limited', { retryAfterS: before.ttl / 1000 });
    const all = await Promise.all(Array.from({ length: times }, () => countRequest(request)));
    for (const each of all.sort((one, other) => other.remaining - one.remaining)) enforce(reply, each);
  });
  app.addHook('onRequest', async (request, reply) => {
    const { url, method, config } = request.routeOptions;
    if (url === '/healthz' || url === '/readyz' || isFile(pathOf(request))) return;
    if (config.limit?.by === 'nothing') return;
    const byAddress = config.limit?.by === 'address';
    const address = networkOf(request.ip);
    const credential = byAddress ? undefined : await credentials.find(request, address);
    if (credential !== undefined) app.requestBodies.countBy(request, { id: credential.owner });
    const counted = config.limit?.by === 'key' ? credential?.counter : credential?.owner;
    const caller = counted ?? `address:${address}`;
    // Requests without a credential share one count over all routes that do not demand a count by address.
    const own = credential !== undefined || byAddress ? config.limit : undefined;
    buckets.set(
      request,
      own === undefined ? { key: caller, max: control } : { key: `${method} ${url}:${caller}`, max: own.max },
    );
    const found = await countRequest(request);
    first.set(request, found);
    enforce(reply, found);
  });
}

interface Counted {
  readonly max: number;
  readonly remaining: number;
  readonly ttl: number;
  readonly isExceeded: boolean;
}

function enforce(reply: FastifyReply, { max, remaining, ttl, isExceeded }: Counted): void {
  reply.headers({
    'x-ratelimit-limit': max,
    'x-ratelimit-remaining': remaining,
    'x-ratelimit-reset': Math.ceil(ttl / 1000),
  });
  if (isExceeded) throw new ServiceError('rate_limited', { retryAfterS: ttl / 1000 });
}

/** The `config` of a route with its own limit, per key and minute. */
export const limitByKey = (max: number): FastifyContextConfig => ({ limit: { by: 'key', max } });

/** The `config` of a route with its own limit, per account and minute. */
export const ownLimit = (max: number): FastifyContextConfig => ({ limit: { max } });

/** The `config` of a route with its own limit, per address and minute, even with a credential. */
export const limitByAddress = (max: number): FastifyContextConfig => ({ limit: { by: 'address', max } });

/** The `config` of a route without a limit. Its callers share addresses, and it refuses a bad request at no cost. */
export const uncounted: FastifyContextConfig = { limit: { by: 'nothing', max: 0 } };

const pathOf = ({ url }: FastifyRequest): string => url.split('?', 1)[0] ?? '';

/** The prefix of every Redis key of control’s rate limits. */
const limitPrefix = 'control:limit:';

/** Returns the Redis key of a counter. */
type LimitKey = (counted: string) => string;

/**
 * Names counters by a MAC under a key that only control derives, so that Redis does not reveal who signs in from where.
 * A plain hash would, because a reader can try all IP addresses and e-mail addresses.
 */
export function limitKeys(sessionSecret: string): LimitKey {
  const key = derivedKey(sessionSecret, 'sotto control: names of rate limits');
  return (counted) =>
    limitPrefix + createHmac('sha256', key).update(counted).digest().subarray(0, 16).toString('base64url');
}

/** A route with a limit of its own. Empty for a limit without a route. */
const ofRouteSchema = z.looseObject({
  routeInfo: z.looseObject({
    method: z.union([z.string(), z.array(z.string())]).default(''),
    url: z.string().default(''),
  }),
});

/** KEYS: a counter. ARGV: the window in ms. The first attempt begins the window, and later ones do not extend it. */
const countScript = `
local current, left = redis.call('INCR', KEYS[1]), redis.call('PTTL', KEYS[1])
if left < 0 then
  left = tonumber(ARGV[1])
  redis.call('PEXPIRE', KEYS[1], left)
end
return {current, left}
`;
const countReplySchema = z.tuple([z.number(), z.number()]);

/**
 * A store for @fastify/rate-limit. Its own Redis store writes the counted values into the names of keys. This one
 * passes every name through `keyOf`.
 */
function limitStore(redis: Redis, keyOf: LimitKey): FastifyRateLimitStoreCtor {
  redis.defineCommand('sotto_count', { numberOfKeys: 1, lua: countScript });
  const count: (key: string, windowMs: number) => Promise<unknown> = Reflect.get(redis, 'sotto_count').bind(redis);
  return class LimitStore implements FastifyRateLimitStore {
    #scope = '';

    incr(counted: string, done: Parameters<FastifyRateLimitStore['incr']>[1], windowMs: number): void {
      count(keyOf(this.#scope + counted), windowMs)
        .then((reply) => countReplySchema.parse(reply))
        .then(([current, ttl]) => done(null, { current, ttl }), done);
    }

    child(options: unknown): LimitStore {
      const { method, url } = ofRouteSchema.parse(options).routeInfo;
      const store = new LimitStore();
      store.#scope = `${method} ${url} `;
      return store;
    }
  };
}
