import type { Redis } from 'ioredis';

/** Appends an entry to a shard's stream and announces it, as the script of a broker does. */
export async function addSettlement(redis: Redis, shard: number, { payload, mac }: { payload: string; mac: string }) {
  await redis.xadd(`sotto:{w${shard}}:stream`, '*', 'p', payload, 'm', mac);
  await redis.publish('sotto:settled', '');
}
