import { createHash } from 'node:crypto';

/**
 * Wallets are spread over a fixed number of shards. All keys of one script have the shard's hash tag, which is one slot in Redis
 * Cluster. The number is part of the data: after a change, everything must be projected again.
 */
export const shardCount = 16;
export const shards: readonly number[] = Array.from({ length: shardCount }, (_, shard) => shard);

export const shardOfWallet = (walletId: string): number => spread(walletId);

/** Returns the shard of a key's index entry, which names the shard of the key's wallet. Depends only on the key's hash. */
export const indexShardOfKey = (keyHash: string): number => spread(keyHash);

/** Returns the prefix of a shard's keys, with the hash tag. */
export const shardPrefix = (shard: number): string => `sotto:{w${shard}}:`;

const spread = (id: string): number => (createHash('sha256').update(id).digest()[0] ?? 0) % shardCount;
