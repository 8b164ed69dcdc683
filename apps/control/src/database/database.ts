import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { drizzle, type NodePgDatabase } from 'drizzle-orm/node-postgres';
import { migrate } from 'drizzle-orm/node-postgres/migrator';
import pg from 'pg';
import { z } from 'zod';
import { endSilentSessions } from './silent-sessions.ts';

export interface DatabaseConnection {
  readonly pool: pg.Pool;
  readonly db: NodePgDatabase;
  close(): Promise<void>;
}

/** Opens a pool. It connects on first use, and reconnects after a restart of the server. */
export function openDatabase(url: string): DatabaseConnection {
  const pool = new pg.Pool({
    connectionString: url,
    max: 20,
    connectionTimeoutMillis: 3000,
    statement_timeout: 15_000,
  });
  // The next query replaces a broken connection. Without listeners, its error would end the process. The pool’s own
  // listener hears only of idle connections, not of one inside a transaction.
  pool.on('error', () => {});
  pool.on('connect', (client) => client.on('error', () => {}));
  endSilentSessions(pool, url);
  return { pool, db: drizzle(pool), close: () => pool.end() };
}

const migrationsFolder = fileURLToPath(new URL('migrations', import.meta.resolve('@sotto/control/package.json')));

/** Applies pending migrations. Several processes may run it at once, because it takes a lock. */
export async function migrateDatabase(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5000 });
  client.on('error', () => {});
  await client.connect();
  try {
    await client.query('select pg_advisory_lock(7283641)');
    await proveUsageBound(client);
    try {
      await migrate(drizzle(client), { migrationsFolder });
    } catch (error) {
      await withdrawUsageBound(client).catch(() => {});
      throw error;
    }
  } finally {
    await client.end();
  }
}

/**
 * Returns the names of this release’s migrations that a database lacks, in order. `unknown` is the number of its
 * migrations that this release does not know.
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
 * Returns the database’s failure if the database is unavailable now, else the error itself. better-auth hides causes,
 * because it replaces every error by its own.
 */
export async function orDatabaseFailure(pool: pg.Pool, error: unknown): Promise<unknown> {
  return pool.query('select 1').then(
    () => error,
    (failure: unknown) => (isDatabaseUnavailable(failure) ? failure : error),
  );
}

/**
 * Whether an error means that Postgres is unreachable or does not accept requests, rather than that the query is wrong.
 */
export function isDatabaseUnavailable(error: unknown): boolean {
  for (let next: unknown = error; next instanceof Error; next = next.cause) {
    const code = 'code' in next ? String(next.code) : '';
    // SQLSTATE classes 08 (connection), 40 (deadlock), 53 (resources), 57P (shutdown, startup) and 58 (disk). Codes
    // 57014 (statement timeout), 25006 (a standby that is not promoted yet) and 42P01 (a schema that is not migrated
    // yet). Below are Node’s errors of sockets and names.
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

/** Whether a unique index refused a row, because another transaction had stored an equal one. */
export const isUniqueViolation = (error: unknown): boolean => hasSqlState(error, '23505');

const hasSqlState = (error: unknown, sqlState: string): boolean =>
  error instanceof Error && 'code' in error && error.code === sqlState;

/** Whether a text is a UUID. Postgres rejects a query with anything else. */
export const isUuid = (text: string): boolean => /^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/i.test(text);

/**
 * Proves, while bookings continue, that `usage` has no row of the month after next or later. Migration 0016 then turns
 * the table into a partition without reading it under a lock. Does nothing if the table is partitioned already or does
 * not exist. Where it has such a row, nothing is proved, and the migration reads the table itself.
 */
export async function proveUsageBound(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query<{ ends: string }>(
    `select to_char(date_trunc('month', now() at time zone 'UTC') + interval '2 months', 'YYYY-MM-DD"T00:00:00Z"') as ends
     from pg_class where oid = to_regclass('usage') and relkind = 'r'`,
  );
  const [table] = rows;
  if (table === undefined) return;
  await withdrawUsageBound(client);
  await client.query(`alter table usage add constraint ${bound} check (at < '${table.ends}') not valid`);
  try {
    await client.query(`alter table usage validate constraint ${bound}`);
  } catch (error) {
    await withdrawUsageBound(client);
    if (!hasSqlState(error, checkViolation)) throw error;
  }
}

/** Removes the proof again. Left behind, it would refuse the bookings of later months. */
async function withdrawUsageBound(client: pg.ClientBase): Promise<void> {
  await client.query(`alter table if exists usage drop constraint if exists ${bound}`);
}

const bound = 'usage_first_bound';
const checkViolation = '23514';
