import { randomUUID } from 'node:crypto';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startTestPostgres, type TestPostgres } from '@sotto/test-servers';
import { drizzle } from 'drizzle-orm/node-postgres';
import { migrate } from 'drizzle-orm/node-postgres/migrator';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { migrateDatabase, proveUsageBound } from './migrate.ts';

const migrations = fileURLToPath(new URL('../../migrations', import.meta.url));
const tag = '0016_usage_partitions';

let postgres: TestPostgres;
let url: string;
let client: pg.Client;
const notices: string[] = [];

beforeAll(async () => {
  postgres = await startTestPostgres();
});
afterAll(async () => {
  await postgres?.stop();
});
// A database of the release before, with `usage` as one table.
beforeEach(async () => {
  url = await postgres.createEmptyDatabase();
  client = new pg.Client(url);
  await client.connect();
  notices.length = 0;
  client.on('notice', ({ message }) => notices.push(message ?? ''));
  const folder = mkdtempSync(join(tmpdir(), 'sotto-migrations-'));
  try {
    cpSync(migrations, folder, { recursive: true });
    const journal = join(folder, 'meta/_journal.json');
    const { entries, ...others } = JSON.parse(readFileSync(journal, 'utf8')) as { entries: { tag: string }[] };
    writeFileSync(journal, JSON.stringify({ ...others, entries: entries.filter((entry) => entry.tag < tag) }));
    await migrate(drizzle(client), { migrationsFolder: folder });
  } finally {
    rmSync(folder, { recursive: true });
  }
  return () => client.end();
});

/** The statement with which the release before books, cut to one row. */
async function insert(at: string): Promise<void> {
  await client.query(
    `with added as (
       insert into usage (id, at, account_id, workspace_id, key_id, operation, model, provider, privacy_class,
         prompt_tokens, cached_tokens, completion_tokens, reasoning_tokens, cost_nusd, attempts, fallback, status, estimated)
       values ($1, ${at}, $1, $1, $1, 'chat', 'm/one', null, null, 1, 0, 1, 0, 7, 1, false, 'completed', false)
       returning *
     ) select from added`,
    [randomUUID()],
  );
}

async function rowsByPartition(): Promise<Record<string, number>> {
  const { rows } = await client.query<{ name: string; rows: string }>(
    'select tableoid::regclass::text as name, count(*) as rows from usage group by 1',
  );
  return Object.fromEntries(rows.map(({ name, rows: count }) => [name, Number(count)]));
}

it('the table becomes a partition without being read under a lock, and the release before keeps booking', async () => {
  for (const at of ["'1970-01-01Z'", "now() - interval '2 years'", 'now()', "now() + interval '27 days'"])
    await insert(at);
  await proveUsageBound(client);
  await insert('now()');
  await client.query("set client_min_messages = 'debug1'");
  for (const statement of readFileSync(join(migrations, `${tag}.sql`), 'utf8').split('--> statement-breakpoint')) {
    await client.query(statement);
  }
  await client.query('reset client_min_messages');
  expect(notices).toContainEqual('partition constraint for table "usage_first" is implied by existing constraints');
  await insert('now()');
  await insert("now() + interval '5 years'");
  expect(await rowsByPartition()).toEqual({ usage_first: 6, usage_other: 1 });
});

it('no index is built again, and no constraint stays behind', async () => {
  await insert('now()');
  const files = 'select indexrelid::int, pg_relation_filenode(indexrelid) as file from pg_index where indrelid =';
  const before = await client.query(`${files} 'usage'::regclass order by 1`);
  await migrateDatabase(url);
  const after = await client.query(`${files} 'usage_first'::regclass order by 1`);
  // Later migrations add indexes of their own.
  expect(after.rows).toEqual(expect.arrayContaining(before.rows));
  expect(before.rows).toHaveLength(7);
  const checks = await client.query(
    "select from pg_constraint where conrelid = 'usage_first'::regclass and contype = 'c'",
  );
  expect(checks.rows).toEqual([]);
});

it('rows of a clock that was years ahead move out of the way', async () => {
  await insert('now()');
  await insert("'9999-12-31Z'");
  await migrateDatabase(url);
  expect(await rowsByPartition()).toEqual({ usage_first: 1, usage_other: 1 });
});

it('a migration that fails leaves no bound that would refuse later bookings', async () => {
  await client.query('create table usage_first ()');
  await expect(migrateDatabase(url)).rejects.toThrow();
  await insert("now() + interval '1 year'");
  expect(await rowsByPartition()).toEqual({ usage: 1 });
});
