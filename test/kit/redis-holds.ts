import { shards } from '@sotto/state';
import type { Redis } from 'ioredis';

interface OpenHold {
  readonly shard: number;
  readonly holdId: string;
  /** The incarnation of the broker that owns the hold. */
  readonly client: string;
}

/** Returns the holds that are open in Redis. */
export async function openHolds(redis: Redis): Promise<OpenHold[]> {
  const found: OpenHold[] = [];
  for (const shard of shards) {
    for (const [holdId, text] of Object.entries(await redis.hgetall(`sotto:{w${shard}}:holds`))) {
      found.push({ shard, holdId, client: text.split(' ')[0] ?? '' });
    }
  }
  return found;
}

/**
 * Expires the lease and its grace time for every owner of holds. Returns the number of holds. A live owner renews its
 * lease within a second, so a caller repeats this until the reaper has run.
 */
export async function lapseLeases(redis: Redis): Promise<number> {
  const holds = await openHolds(redis);
  for (const { shard, client } of holds) {
    await redis.hset(`sotto:{w${shard}}:clients`, `${client} until`, '1', `${client} suspect`, '1');
  }
  return holds.length;
}
