import rateLimit from '@fastify/rate-limit';
import { controlOrigin } from '@sotto/contract/control';
import { networkOf } from '@sotto/http';
import { ServiceError } from '@sotto/wire';
import type { FastifyContextConfig, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Redis } from 'ioredis';
import { credentialIdsOf } from './credential-ids.ts';
import { limitKeys } from './limit-key.ts';
import { limitStore } from './limit-store.ts';
import { VerifiedCredentials } from './verified-credentials.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    limit?: RouteLimit;
  }
}

/** How a route differs from the limit of all routes. */
interface RouteLimit {
  /** Requests per minute that count for this route alone. Default: RATE_LIMIT_CONTROL, together with other routes. */
  readonly max?: number;
  /** The route counts by address, whatever credential a request shows. */
  readonly by?: 'address';
}

export interface RateLimitOptions {
  /** Requests per minute by address or, once a credential was verified, by credential. */
  readonly control: number;
  /** A connection for limits that several control processes share; undefined: this process counts alone. */
  readonly redis: Redis | undefined;
  /** SESSION_SECRET, from which the names of counters in Redis are derived. */
  readonly sessionSecret: string;
  /** Whether a path is a file of the dashboard: loading the page takes dozens. */
  readonly isFile: (path: string) => boolean;
  readonly now: () => number;
}

/**
 * To be called where a request was authenticated, with the id of the credential that was found good. From then on the
 * credential has a count of its own. Throws `rate_limited` where that is used up.
 */
export type OnVerified = (request: FastifyRequest, credential: string) => Promise<void>;

/** The count that a request goes to, and how far it may go in a minute. */
interface Bucket {
  readonly key: string;
  readonly max: number;
}

/** How many addresses and credentials a process that counts alone tells apart. */
const mostCounted = 50_000;

/**
 * Limits every request to control but health checks, the dashboard's files and preflights, which cost less than counting
 * them. A request counts by its address until its credential was verified: made-up credentials share one count, and so do
 * requests without any. No limit applies while the store is away: these limits guard no money.
 */
export async function registerRateLimits(
  app: FastifyInstance,
  { control, redis, sessionSecret, isFile, now }: RateLimitOptions,
): Promise<OnVerified> {
  const keyOf = limitKeys(sessionSecret);
  const verified = new VerifiedCredentials({ redis, keyOf, now });
  const buckets = new WeakMap<FastifyRequest, Bucket>();
  await app.register(rateLimit, {
    global: false,
    max: (request) => buckets.get(request)?.max ?? control,
    timeWindow: '1 minute',
    keyGenerator: (request) => buckets.get(request)?.key ?? '',
    skipOnError: true,
    ...(redis === undefined ? { cache: mostCounted } : { store: limitStore(redis, keyOf) }),
  });
  const countOne = app.createRateLimit();
  const count = async (request: FastifyRequest, bucket: Bucket) => {
    buckets.set(request, bucket);
    const counted = await countOne(request);
    if (counted.isAllowed) throw new Error('a limiter without an allow list has allowed a request');
    return counted;
  };
  const bucketOf = (caller: string, { url, method, config }: FastifyRequest['routeOptions']): Bucket => {
    const { max } = config.limit ?? {};
    return max === undefined ? { key: caller, max: control } : { key: `${method} ${url}:${caller}`, max };
  };

  app.addHook('onRequest', async (request, reply) => {
    const route = request.routeOptions;
    if (route.url === '/healthz' || route.url === '/readyz' || isFile(pathOf(request))) return;
    const address = networkOf(request.ip);
    const shown = credentialIdsOf(request);
    if (route.config.limit?.by === 'address') {
      enforce(reply, await count(request, bucketOf(`address:${address}`, route)));
      return;
    }
    let caller = shown.find((credential) => verified.has(credential));
    if (caller === undefined) {
      // A first request with a good credential must get through where others at its address ask without any.
      const isTrial = shown.length > 0 && asksForCredential(request);
      const counted = await count(request, { key: `${isTrial ? 'unverified' : 'address'}:${address}`, max: control });
      if (counted.isExceeded) caller = await findShared(verified, shown);
      if (caller === undefined) {
        enforce(reply, counted);
        return;
      }
    }
    enforce(reply, await count(request, bucketOf(caller, route)));
  });

  return async (request, credential) => {
    verified.remember(credential);
    const { routeOptions } = request;
    const bucket = bucketOf(credential, routeOptions);
    if (routeOptions.config.limit?.by === 'address' || buckets.get(request)?.key === bucket.key) return;
    const { isExceeded, ttl } = await count(request, bucket);
    if (isExceeded) throw tooMany(ttl);
  };
}

async function findShared(verified: VerifiedCredentials, shown: readonly string[]): Promise<string | undefined> {
  for (const credential of shown) if (await verified.isShared(credential)) return credential;
  return undefined;
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
  if (isExceeded) throw tooMany(ttl);
}

const tooMany = (waitMs: number): ServiceError => new ServiceError('rate_limited', { retryAfterS: waitMs / 1000 });

/** The `config` of a route with a limit of its own, per credential and minute. */
export const ownLimit = (max: number): FastifyContextConfig => ({ limit: { max } });

/** The `config` of a route that counts by address, whatever is shown; with `max`, apart from other routes. */
export const limitByAddress = (max?: number): FastifyContextConfig => ({
  limit: { by: 'address', ...(max === undefined ? {} : { max }) },
});

/** Routes that look at a credential, as Fastify writes them. Others serve everybody, so showing one changes nothing. */
const asking: ReadonlySet<string> = new Set(
  controlOrigin.routes
    .filter(({ credentials }) => credentials.length > 0)
    .map(({ method, path }) => `${method.toUpperCase()} ${path.replace(/\{(\w+)\}/g, ':$1')}`),
);

const asksForCredential = ({ method, routeOptions }: FastifyRequest): boolean =>
  asking.has(`${method === 'HEAD' ? 'GET' : method} ${routeOptions.url}`);

const pathOf = ({ url }: FastifyRequest): string => url.split('?', 1)[0] ?? '';
