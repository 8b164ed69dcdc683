import { randomBytes } from 'node:crypto';
import pg from 'pg';

/** Creates databases for tests. */
export interface TestPostgres {
  /** Creates a database with the schema and resolves to its URL. It is dropped at `stop()`, or with the server. */
  createDatabase(): Promise<string>;
  /** Creates a database without a schema, for tests about its creation. */
  createEmptyDatabase(): Promise<string>;
  stop(): Promise<void>;
}

/** The variable with the URL of the PostgreSQL that a test run shares. */
export const sharedPostgresVariable = 'SOTTO_TEST_SHARED_POSTGRES';
/** The variable with the name of a database there that has the schema. New databases are copies of it. */
export const templateVariable = 'SOTTO_TEST_TEMPLATE';

/** Whether a test run shares a PostgreSQL. A program that is started by hand starts its own. */
export const hasSharedPostgres = process.env[sharedPostgresVariable] !== undefined;

/** Returns the PostgreSQL that a test run shares. Rejects if no run does. */
export async function startTestPostgres(): Promise<TestPostgres> {
  const url = process.env[sharedPostgresVariable];
  const template = process.env[templateVariable];
  if (url === undefined || template === undefined) {
    throw new Error('no test run shares a PostgreSQL; run the test by `npm test`');
  }
  const names: string[] = [];
  const create = async (from?: string): Promise<string> => {
    const created = await createTestDatabase(url, from);
    names.push(new URL(created).pathname.slice(1));
    return created;
  };
  return {
    createDatabase: () => create(template),
    createEmptyDatabase: () => create(),
    stop: async () => {
      for (const name of names.splice(0)) await execute(url, `drop database if exists ${name} with (force)`);
    },
  };
}

/**
 * Opens a pool whose connections may break, as they do when their server stops first. `end()` resolves before each
 * connection has closed. A connection that breaks without a listener would end the process.
 */
export function openTestPool(url: string): pg.Pool {
  const pool = new pg.Pool({ connectionString: url, max: 5, pipeline: true });
  pool.on('error', () => {});
  pool.on('connect', (client) => client.on('error', () => {}));
  return pool;
}

/** Creates a database on the server of a URL, as a copy of `template`. Resolves to its URL. */
export async function createTestDatabase(url: string, template = 'template1'): Promise<string> {
  const name = `test_${randomBytes(8).toString('hex')}`;
  await execute(url, `create database ${name} template ${template}`);
  const own = new URL(url);
  own.pathname = `/${name}`;
  return own.href;
}

async function execute(url: string, sql: string): Promise<void> {
  const client = new pg.Client(url);
  client.on('error', () => {});
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
