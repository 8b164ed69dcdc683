import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { StartError } from '@sotto/server';
import { drizzle } from 'drizzle-orm/node-postgres';
import { migrate } from 'drizzle-orm/node-postgres/migrator';
import pg from 'pg';
import * as z from 'zod';

const migrationsFolder = fileURLToPath(new URL('migrations', import.meta.resolve('@sotto/control/package.json')));

/**
 * Applies pending migrations. Several processes may run it at once, because it takes a lock. Throws a `StartError`, before it writes,
 * for a database that this version cannot migrate.
 */
export async function migrateDatabase(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5000 });
  client.on('error', () => {});
  await client.connect();
  try {
    await client.query('select pg_advisory_lock(7283641)');
    await refuseDevelopmentSchema(client);
    await migrate(drizzle(client), { migrationsFolder });
  } finally {
    await client.end();
  }
}

/** Returns the times of this version's migrations, with their names, and of those that a database has. Both in order. */
async function readMigrations(client: pg.ClientBase): Promise<{ known: Map<number, string>; applied: number[] }> {
  const { entries } = journalSchema.parse(
    JSON.parse(await readFile(join(migrationsFolder, 'meta/_journal.json'), 'utf8')),
  );
  const { rows: tables } = await client.query<{ name: string | null }>(
    `select to_regclass('drizzle.__drizzle_migrations')::text as name`,
  );
  const { rows } =
    tables[0]?.name == null
      ? { rows: [] }
      : await client.query<{ created_at: string }>('select created_at from drizzle.__drizzle_migrations order by 1');
  return {
    known: new Map(entries.map(({ when, tag }) => [when, tag])),
    applied: rows.map(({ created_at }) => Number(created_at)),
  };
}

const journalSchema = z.object({ entries: z.array(z.object({ when: z.number(), tag: z.string() })) });

/** The first schema is that of the first release. Earlier ones were never released. */
async function refuseDevelopmentSchema(client: pg.ClientBase): Promise<void> {
  const { known, applied } = await readMigrations(client);
  const [first = 0] = known.keys();
  const last = applied.at(-1);
  if (last === undefined || last >= first) return;
  throw new StartError(
    `the database has the schema of a development version (${new Date(last).toISOString().slice(0, 10)}), which this version ` +
      'cannot migrate. It was left as it is. Set DATABASE_URL to an empty database (without DATABASE_URL: rename the folder .sotto), ' +
      'or start the version that made it',
  );
}

/**
 * Returns the names of this version’s migrations that a database lacks, in order. `unknown` is the number of its later
 * migrations, which this version does not know.
 */
export async function pendingMigrations(client: pg.ClientBase): Promise<{ missing: string[]; unknown: number }> {
  const { known, applied } = await readMigrations(client);
  const newest = Math.max(...known.keys());
  return {
    missing: [...known].flatMap(([when, tag]) => (applied.includes(when) ? [] : [tag])),
    unknown: applied.filter((when) => when > newest).length,
  };
}
