import { randomUUID } from 'node:crypto';
import { Membership } from '../membership/membership.ts';
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

export interface RedisStateOptions {
  /** `redis://` or `rediss://`; several hosts, or `?cluster=1`, for a Redis Cluster. */
  readonly url: string;
  /** How long one command may take, in ms. */
  readonly commandTimeoutMs?: number | undefined;
  /** A clock in Unix ms for tests; without one, scripts take Redis' own. */
  readonly clock?: (() => number) | undefined;
  /** Makes the random name of an incarnation. */
  readonly newClient?: (() => string) | undefined;
  /** Where given, a Redis that does not keep what it has answered is not ready, and this is told why. */
  readonly onVolatile?: ((problem: string) => void) | undefined;
}

/** The shared state on Redis (7 or later) or Valkey, single or cluster. Connects in the background. */
export function createRedisState({
  url,
  commandTimeoutMs = 1000,
  clock,
  newClient = randomUUID,
  onVolatile,
}: RedisStateOptions): State {
  const connection = connectRedis(url, { commandTimeoutMs });
  const runner = new ScriptRunner(connection, new Membership(newClient), () => performance.now());
  const now = (): string => (clock === undefined ? '' : String(clock()));
  const epochs = redisEpochs(runner, now);
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
