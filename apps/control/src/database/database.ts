import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { drizzle, type NodePgDatabase } from 'drizzle-orm/node-postgres';
import { migrate } from 'drizzle-orm/node-postgres/migrator';
import pg from 'pg';
import { z } from 'zod';
import { endSilentSessions } from './silent-sessions.ts';

export type Database = NodePgDatabase;

export interface DatabaseConnection {
  readonly pool: pg.Pool;
  readonly db: Database;
  close(): Promise<void>;
}

/** Opens a pool. Connects when it is first used; a server that restarts is found again without our doing. */
export function openDatabase(url: string): DatabaseConnection {
  const pool = new pg.Pool({
    connectionString: url,
    max: 20,
    connectionTimeoutMillis: 3000,
    statement_timeout: 15_000,
  });
  // A connection that breaks is replaced at the next query. Without listeners it would end the process: the pool's own
  // hears of idle ones only, not of one that is within a transaction.
  pool.on('error', () => {});
  pool.on('connect', (client) => client.on('error', () => {}));
  endSilentSessions(pool, url);
  return { pool, db: drizzle(pool), close: () => pool.end() };
}

const migrationsFolder = fileURLToPath(new URL('../../migrations', import.meta.url));

/** Brings the schema up to date. Safe to run from several processes at once: the first one holds a lock. */
export async function migrateDatabase(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5000 });
  client.on('error', () => {});
  await client.connect();
  try {
    await client.query('select pg_advisory_lock(7283641)');
    await migrate(drizzle(client), { migrationsFolder });
  } finally {
    await client.end();
  }
}

/**
 * Which migrations of this release a database lacks, by name and in order, and how many it has that this release does not
 * know.
 */
export async function pendingMigrations(client: pg.ClientBase): Promise<{ missing: string[]; unknown: number }> {
  const journal = z
    .object({ entries: z.array(z.object({ when: z.number(), tag: z.string() })) })
    .parse(JSON.parse(await readFile(join(migrationsFolder, 'meta/_journal.json'), 'utf8')));
  const { rows: tables } = await client.query<{ name: string | null }>(
    `select to_regclass('drizzle.__drizzle_migrations')::text as name`,
  );
  const { rows } =
    tables[0]?.name == null
      ? { rows: [] }
      : await client.query<{ created_at: string }>('select created_at from drizzle.__drizzle_migrations');
  const applied = new Set(rows.map(({ created_at }) => Number(created_at)));
  const known = new Set(journal.entries.map(({ when }) => when));
  return {
    missing: journal.entries.filter(({ when }) => !applied.has(when)).map(({ tag }) => tag),
    unknown: [...applied].filter((when) => !known.has(when)).length,
  };
}

/**
 * What lies behind an error whose cause is hidden: better-auth turns every one into its own. Answers why the database
 * cannot be asked, where that is so now, and else the error itself.
 */
export async function orDatabaseFailure(pool: pg.Pool, error: unknown): Promise<unknown> {
  return pool.query('select 1').then(
    () => error,
    (failure: unknown) => (isDatabaseUnavailable(failure) ? failure : error),
  );
}

/** Whether an error says that Postgres cannot be reached or is not taking requests, rather than that we asked wrongly. */
export function isDatabaseUnavailable(error: unknown): boolean {
  for (let next: unknown = error; next instanceof Error; next = next.cause) {
    const code = 'code' in next ? String(next.code) : '';
    // SQLSTATE classes 08 (connection), 40 (deadlock), 53 (resources), 57P (shutdown, starting up), 58 (its disk), a
    // statement that took too long (57014), a standby that is not promoted yet (25006), a schema that is not there yet
    // (42P01), and what Node says of sockets and names.
    if (/^(08|40|53|57P|58|57014|25006|42P01)/.test(code)) return true;
    if (/^(ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_|EHOST|ENET)/.test(code)) return true;
    if (
      /Connection terminated|connection error|timeout exceeded when trying to connect|Client was closed/.test(
        next.message,
      )
    )
      return true;
  }
  return false;
}
