import { createHash } from 'node:crypto';

/**
 * Wallets are spread over a fixed number of shards. Everything one script touches lives under one shard's hash tag, so
 * that on Redis Cluster it is one slot. The number is part of the data: changing it means projecting anew.
 */
export const shardCount = 16;
export const shards: readonly number[] = Array.from({ length: shardCount }, (_, shard) => shard);

/** The shard of a wallet id. */
export const shardOfWallet = (walletId: string): number => spread(walletId);

/** The shard where it is written which shard a key's wallet is on: all that is known of the key is its hash. */
export const indexShardOfKey = (keyHash: string): number => spread(keyHash);

/** The key name prefix of a shard, hash tag included. */
export const shardPrefix = (shard: number): string => `sotto:{w${shard}}:`;

const spread = (id: string): number => (createHash('sha256').update(id).digest()[0] ?? 0) % shardCount;
