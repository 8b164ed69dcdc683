import { readdirSync } from 'node:fs';
import { startTestPostgres, type TestPostgres } from '@sotto/test-servers';
import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { migrateDatabase } from './migrate.ts';

let postgres: TestPostgres;
beforeAll(async () => {
  postgres = await startTestPostgres();
});
afterAll(() => postgres?.stop());

/** Returns the names of a database's tables, and the number of its migrations. */
async function contentsOf(client: pg.Client): Promise<{ tables: string[]; migrations: number }> {
  const { rows } = await client.query<{ name: string }>(
    "select tablename as name from pg_tables where schemaname = 'public' order by 1",
  );
  const { rowCount } = await client.query('select from drizzle.__drizzle_migrations');
  return { tables: rows.map(({ name }) => name), migrations: rowCount ?? 0 };
}

it('a database of a development version is left as it is, and the error says what to do', async () => {
  const url = await postgres.createEmptyDatabase();
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(
      `create table accounts (id text); create schema drizzle;
       create table drizzle.__drizzle_migrations (id serial primary key, hash text, created_at bigint);
       insert into drizzle.__drizzle_migrations (hash, created_at) values ('of then', 1795467706807)`,
    );
    await expect(migrateDatabase(url)).rejects.toThrow(
      'the database has the schema of a development version (2026-11-23), which this version cannot migrate. It was left as it is. ' +
        'Set DATABASE_URL to an empty database (without DATABASE_URL: rename the folder .sotto), or start the version that made it',
    );
    expect(await contentsOf(client)).toEqual({ tables: ['accounts'], migrations: 1 });
  } finally {
    await client.end();
  }
});

it('two processes that migrate at once leave one schema, and a second start changes nothing', async () => {
  const url = await postgres.createEmptyDatabase();
  await Promise.all([migrateDatabase(url), migrateDatabase(url)]);
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const before = await contentsOf(client);
    const files = readdirSync(new URL('../../migrations/', import.meta.url)).filter((name) => name.endsWith('.sql'));
    expect(before.migrations).toBe(files.length);
    await migrateDatabase(url);
    expect(await contentsOf(client)).toEqual(before);
  } finally {
    await client.end();
  }
});
