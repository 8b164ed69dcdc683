import { shards } from '@sotto/state';
import type { Redis } from 'ioredis';

interface OpenHold {
  readonly shard: number;
  readonly holdId: string;
  /** The incarnation that it belongs to. */
  readonly client: string;
}

/** The holds that are open in Redis. */
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
 * Lets the time of a lease and its grace pass for everyone who holds something; answers how many holds those are. Who
 * is alive renews the lease within a second, so this is repeated until the reaper has been there.
 */
export async function lapseLeases(redis: Redis): Promise<number> {
  const holds = await openHolds(redis);
  for (const { shard, client } of holds) {
    await redis.hset(`sotto:{w${shard}}:clients`, `${client} until`, '1', `${client} suspect`, '1');
  }
  return holds.length;
}
