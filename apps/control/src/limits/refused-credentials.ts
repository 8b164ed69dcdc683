import type { FastifyInstance, FastifyRequest } from 'fastify';
import { addressOf, callerOf, tooMany } from './rate-limits.ts';

/** How many callers are remembered; the oldest go first. */
const most = 50_000;

/**
 * Limits made-up credentials, each of which would be counted by itself: an address whose credentials were refused as often
 * in a minute as it may ask without any is refused until the minute is over. Callers that were accepted before go on,
 * whoever else is at their address.
 */
export function limitRefusedCredentials(app: FastifyInstance, control: number): void {
  const count = app.createRateLimit({
    max: control,
    timeWindow: '1 minute',
    keyGenerator: (request) => `refused:${addressOf(request)}`,
  });
  /** Callers, and when last. */
  const accepted = new Map<string, number>();
  /** Addresses, until when. */
  const shut = new Map<string, number>();
  const callerWithCredential = (request: FastifyRequest): string | undefined => {
    const caller = callerOf(request);
    return caller === addressOf(request) ? undefined : caller;
  };

  app.addHook('onRequest', async (request) => {
    const until = shut.get(addressOf(request));
    if (until === undefined) return;
    const leftMs = until - Date.now();
    if (leftMs <= 0) {
      shut.delete(addressOf(request));
      return;
    }
    const caller = callerWithCredential(request);
    if (caller !== undefined && !accepted.has(caller)) throw tooMany(leftMs);
  });
  app.addHook('onResponse', async (request, reply) => {
    const caller = callerWithCredential(request);
    if (caller === undefined) return;
    if (reply.statusCode === 401) {
      const counted = await count(request);
      if (!counted.isAllowed && counted.isExceeded) remember(shut, addressOf(request), Date.now() + counted.ttl);
    } else if (reply.statusCode < 400) {
      remember(accepted, caller, Date.now());
    }
  });
}

/** Notes an instant under a key. */
function remember(known: Map<string, number>, key: string, at: number): void {
  known.delete(key);
  known.set(key, at);
  const [oldest] = known.keys();
  if (known.size > most && oldest !== undefined) known.delete(oldest);
}
