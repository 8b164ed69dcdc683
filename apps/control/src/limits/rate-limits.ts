import rateLimit from '@fastify/rate-limit';
import { bearerToken } from '@sotto/http';
import { hashSecret } from '@sotto/state';
import { ServiceError } from '@sotto/wire';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Redis } from 'ioredis';
import { authBasePath } from '../sessions/auth-path.ts';
import { sessionTokensOf } from '../sessions/cookies.ts';
import { networkOf } from './network.ts';

export interface RateLimitOptions {
  /** Requests per minute without a credential, by address; with one, by credential. */
  readonly control: number;
  /** A connection for limits that several control processes share; undefined: this process counts alone. */
  readonly redis: Redis | undefined;
}

/** Limits every route of the control plane. A store that cannot be reached limits nobody: it guards no money. */
export async function registerRateLimits(app: FastifyInstance, { control, redis }: RateLimitOptions): Promise<void> {
  await app.register(rateLimit, {
    global: true,
    max: control,
    timeWindow: '1 minute',
    keyGenerator: callerOf,
    allowList: (request) =>
      request.url === '/healthz' || request.url === '/readyz' || request.url.startsWith('/assets/'),
    skipOnError: true,
    ...(redis === undefined ? {} : { redis, nameSpace: 'sotto:limits:' }),
    errorResponseBuilder: (_request, context) => tooMany(context.ttl),
  });
}

export const tooMany = (waitMs: number): ServiceError =>
  new ServiceError('rate_limited', { retryAfterS: waitMs / 1000 });

/** The `config` of a route with a limit of its own, per credential and minute. */
export const ownLimit = (max: number): object => ({ rateLimit: { max, timeWindow: '1 minute' } });

/** Whoever signs in has no credential yet: a made-up cookie or key must not give them a count of their own. */
const isSigningIn = (request: FastifyRequest): boolean => request.routeOptions.url?.startsWith(authBasePath) ?? false;

/** By the caller's network. */
export const addressOf = (request: FastifyRequest): string => `address:${networkOf(request.ip)}`;

/** The `config` of a route that anybody may call and that keeps something of each call: whatever they show, their address counts. */
export const limitByAddress: object = { rateLimit: { keyGenerator: addressOf } };

/** Who is counted: whoever shows a credential by that, anybody else by their address. */
export function callerOf(request: FastifyRequest): string {
  const address = addressOf(request);
  if (isSigningIn(request)) return address;
  const bearer = bearerToken(request);
  if (bearer) return `key:${hashSecret(bearer)}`;
  // The session alone: other cookies beside it may say anything. Browsers send one.
  const [session, ...others] = sessionTokensOf(request.headers.cookie);
  return session === undefined || others.length > 0 ? address : `session:${hashSecret(session)}`;
}
