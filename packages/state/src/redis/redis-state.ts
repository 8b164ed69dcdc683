import { brokerClient, Membership } from '../membership/membership.ts';
import type { State } from '../ports.ts';
import { redisAdmission } from './admission.ts';
import { redisCatalog } from './catalog.ts';
import { connectRedis } from './connection.ts';
import { DurabilityCheck } from './durability.ts';
import { redisEpochs } from './epochs.ts';
import { redisHealth } from './health.ts';
import { redisProjection } from './projection.ts';
import { redisReceipts } from './receipts.ts';
import { ScriptRunner } from './script-runner.ts';
import { isDenial, readsControlKeys } from './users.ts';

export interface RedisStateOptions {
  /** `redis://` or `rediss://`; several hosts, or `?cluster=1`, for a Redis Cluster. */
  readonly url: string;
  /** How long one command may take, in ms. */
  readonly commandTimeoutMs?: number | undefined;
  /** A clock in Unix ms for tests; without one, scripts take Redis' own. */
  readonly clock?: (() => number) | undefined;
  /** Makes the random name of an incarnation; by default a broker's. */
  readonly newClient?: (() => string) | undefined;
  /** What Redis calls the connection in its lists. */
  readonly name?: string | undefined;
  /** Where given, this is told once if the user of the connection can read what is control's. */
  readonly onExposed?: (() => void) | undefined;
  /** Where given, this is told once if the user of the connection may not do what is asked of it. */
  readonly onDenied?: (() => void) | undefined;
  /** Where given, a Redis that does not keep what it has answered is not ready, and this is told why. */
  readonly onVolatile?: ((problem: string) => void) | undefined;
}

/** The shared state on Redis (7 or later) or Valkey, single or cluster. Connects in the background. */
export function createRedisState({
  url,
  commandTimeoutMs = 1000,
  clock,
  newClient = brokerClient,
  name,
  onExposed,
  onDenied,
  onVolatile,
}: RedisStateOptions): State {
  const connection = connectRedis(url, { commandTimeoutMs, name });
  let denied = onDenied;
  const onRefusal = (error: Error): void => {
    if (!isDenial(error)) return;
    denied?.();
    denied = undefined;
  };
  const runner = new ScriptRunner(connection, new Membership(newClient), { now: () => performance.now(), onRefusal });
  const now = (): string => (clock === undefined ? '' : String(clock()));
  const epochs = redisEpochs(runner, now);
  let untold = onExposed;
  const durability = new DurabilityCheck(connection, () => performance.now());
  return {
    ...redisAdmission(runner, now),
    ...epochs,
    ...redisProjection(runner),
    ...redisCatalog(runner),
    ...redisHealth(runner),
    ...redisReceipts(runner),
    async isReady() {
      try {
        const problem = onVolatile === undefined ? undefined : await durability.problem();
        if (problem !== undefined) {
          onVolatile?.(problem);
          return false;
        }
        if (untold !== undefined) {
          const isExposed = await readsControlKeys(connection);
          if (isExposed) untold?.();
          untold = undefined;
        }
        return await epochs.isOpen();
      } catch {
        return false;
      }
    },
    async close() {
      connection.disconnect();
    },
  };
}
