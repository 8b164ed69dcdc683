import { cpus } from 'node:os';
import { type OwnPostgres, sharedPostgresVariable, startOwnPostgres } from './postgres.ts';
import { type OwnRedis, sharedRedisVariable, startOwnRedis } from './redis.ts';

let postgres: OwnPostgres | undefined;
let redis: OwnRedis | undefined;

/**
 * Vitest `globalSetup`: starts one PostgreSQL and one Redis for all files. Each file uses its own databases. A file
 * that breaks its servers starts its own. The workers inherit the variables.
 */
export async function setup(): Promise<void> {
  // A file runs up to three controls at once, each with a pool.
  postgres = await startOwnPostgres({ maxConnections: 100 * (1 + cpus().length) });
  process.env[sharedPostgresVariable] = postgres.url;
  redis = await startOwnRedis({ databases: 4096 });
  if (redis !== undefined) process.env[sharedRedisVariable] = redis.url;
}

/** Vitest `globalSetup`: stops the servers. */
export async function teardown(): Promise<void> {
  await redis?.stop();
  await postgres?.stop();
}
