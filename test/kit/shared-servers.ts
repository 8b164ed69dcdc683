import { cpus } from 'node:os';
import { fileURLToPath } from 'node:url';
import {
  type OwnRedis,
  sharedPostgresVariable,
  sharedRedisVariable,
  startOwnRedis,
  templateVariable,
} from '@sotto/test-servers';
import { type OwnPostgres, startOwnPostgres } from './postgres.ts';
import { fromSource, programOf, runToEnd } from './programs.ts';

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
  process.env[templateVariable] = await createTemplate(postgres);
  redis = await startOwnRedis({ databases: 4096 });
  if (redis !== undefined) process.env[sharedRedisVariable] = redis.url;
}

/** Vitest `globalSetup`: stops the servers. */
export async function teardown(): Promise<void> {
  await redis?.stop();
  await postgres?.stop();
}

/** Creates a database with the schema, as an operator does. Resolves to its name. */
async function createTemplate(server: OwnPostgres): Promise<string> {
  const url = await server.createEmptyDatabase();
  const migrate = [...fromSource, programOf('apps/control/src/main.ts'), 'migrate'];
  const root = fileURLToPath(new URL('../../', import.meta.url));
  const { code, out, error } = await runToEnd(process.execPath, migrate, root, { DATABASE_URL: url });
  if (code !== 0) throw new Error(`the schema was not created: ${out} ${error}`);
  return new URL(url).pathname.slice(1);
}
