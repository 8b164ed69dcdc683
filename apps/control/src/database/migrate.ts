import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { drizzle } from 'drizzle-orm/node-postgres';
import { migrate } from 'drizzle-orm/node-postgres/migrator';
import pg from 'pg';
import { z } from 'zod';
import { hasSqlState } from './failures.ts';

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
