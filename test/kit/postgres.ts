import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmod, cp, mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { startPostgres } from '@sotto/embedded/testing';
import pg from 'pg';
import { dieTogether } from './programs.ts';
import { until } from './until.ts';

/** Creates databases for tests. */
export interface TestPostgres {
  /** Creates a database with the schema and resolves to its URL. It is dropped at `stop()`, or with the server. */
  createDatabase(): Promise<string>;
  /** Creates a database without a schema, for tests about its creation. */
  createEmptyDatabase(): Promise<string>;
  stop(): Promise<void>;
}

/** A server of one test file. */
export interface OwnPostgres extends TestPostgres {
  /** The URL of an existing database. */
  readonly url: string;
  readonly port: number;
  readonly dataDir: string;
  /** The id of the present process; it changes at `restart()`. */
  readonly pid: number;
  /** Kills the server with SIGKILL, and resolves when it is gone. */
  kill9(): Promise<void>;
  /** Starts the server on the same port and data; stops it first if it runs. */
  restart(): Promise<void>;
}

export interface OwnPostgresOptions {
  /** `full` for tests about data that survives a crash; `fast`, the default, for others. */
  readonly durability?: 'full' | 'fast';
  readonly maxConnections?: number;
  /** The folder for the data of our server. Default: the machine's temporary folder. */
  readonly within?: string;
}

/** The variable with the URL of the PostgreSQL that a test run shares. */
export const sharedPostgresVariable = 'SOTTO_TEST_SHARED_POSTGRES';
/** The variable with the name of a database there that has the schema. New databases are copies of it. */
export const templateVariable = 'SOTTO_TEST_TEMPLATE';

/**
 * Returns the PostgreSQL that a test run shares (`shared-servers.ts`). Starts a server if none is shared, as in a
 * benchmark.
 */
export async function startTestPostgres(): Promise<TestPostgres> {
  const url = process.env[sharedPostgresVariable];
  if (url === undefined) return startOwnPostgres();
  const names: string[] = [];
  return {
    createDatabase: () => {
      const template = process.env[templateVariable];
      return template === undefined ? createMigrated(url, names) : createDatabase(url, names, template);
    },
    createEmptyDatabase: () => createDatabase(url, names),
    stop: async () => {
      for (const name of names.splice(0)) await execute(url, `drop database if exists ${name} with (force)`);
    },
  };
}

/**
 * Starts a private server in a temporary folder, for tests that break it.
 *
 * @param prepare - Called with the folder of the future cluster, `postgres`, before the cluster exists.
 */
export async function startOwnPostgres(
  { durability = 'fast', maxConnections = 100, within = tmpdir() }: OwnPostgresOptions = {},
  prepare: (folder: string) => Promise<void> = async () => {},
): Promise<OwnPostgres> {
  const folder = await mkdtemp(join(within, 'sotto-test-postgres-'));
  // If root starts the tests, the server runs as the user `nobody`, which needs access to this folder.
  await chmod(folder, 0o711);
  await prepare(folder);
  const options = { dataDir: join(folder, 'postgres'), durability, maxConnections };
  let server = await startPostgres(options);
  const folders = [folder, dirname(server.dataDir)];
  let callOff = dieTogether(server.pid, folders);
  const { url } = server;
  const port = Number(new URL(url).port);

  const stopServer = async () => {
    await server.stop();
    callOff();
  };
  return {
    url,
    port,
    dataDir: server.dataDir,
    get pid() {
      return server.pid;
    },
    createDatabase: () => createMigrated(url, []),
    createEmptyDatabase: () => createDatabase(url, []),
    kill9: async () => {
      process.kill(server.pid, 'SIGKILL');
      await stopServer();
    },
    restart: async () => {
      await stopServer();
      server = await startPostgres({ ...options, port });
      callOff = dieTogether(server.pid, folders);
    },
    stop: async () => {
      await stopServer();
      for (const each of folders) await rm(each, { recursive: true, force: true });
    },
  };
}

/**
 * Opens a pool whose connections may break, as they do when their server stops first. `end()` resolves before each
 * connection has closed. A connection that breaks without a listener would end the process.
 */
export function openTestPool(url: string): pg.Pool {
  const pool = new pg.Pool({ connectionString: url, max: 5 });
  pool.on('error', () => {});
  pool.on('connect', (client) => client.on('error', () => {}));
  return pool;
}

async function createDatabase(url: string, names: string[], template = 'template1'): Promise<string> {
  const name = `test_${randomBytes(8).toString('hex')}`;
  await execute(url, `create database ${name} template ${template}`);
  names.push(name);
  const own = new URL(url);
  own.pathname = `/${name}`;
  return own.href;
}

async function createMigrated(url: string, names: string[]): Promise<string> {
  const { migrateDatabase } = await import('./migrate.ts');
  const database = await createDatabase(url, names);
  await migrateDatabase(database);
  return database;
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

/** A standby of a server. From its start on, every commit of the primary waits for it. */
export interface Standby extends OwnPostgres {
  /** Promotes the standby to a primary that accepts writes. */
  promote(): Promise<void>;
}

/** @param within - The folder for its data. Default: the machine's temporary folder. */
export async function startStandby(primary: OwnPostgres, within?: string): Promise<Standby> {
  const toPrimary = new pg.Client(primary.url);
  await toPrimary.connect();
  const copy = async (folder: string): Promise<void> => {
    const to = join(folder, 'postgres');
    const from = primary.dataDir;
    await toPrimary.query("select pg_backup_start('standby', true)");
    const leftOut = [join(from, 'postmaster.pid'), join(from, 'postmaster.opts'), join(from, 'pg_wal')];
    // Files may disappear during the copy. The write-ahead log that follows accounts for them.
    await promisify(execFile)('sh', ['-c', 'cp -a "$1" "$2" 2>/dev/null || true', 'sh', from, to]);
    for (const path of leftOut) await promisify(execFile)('rm', ['-rf', path.replace(from, to)]);
    await mkdir(join(to, 'pg_wal', 'archive_status'), { recursive: true });
    const { rows } = await toPrimary.query<{ labelfile: string }>('select labelfile from pg_backup_stop(false)');
    await writeFile(join(to, 'backup_label'), rows[0]?.labelfile ?? '');
    await writeFile(join(to, 'standby.signal'), '');
    const { port, username, password } = new URL(primary.url);
    const source = `host=127.0.0.1 port=${port} user=${username} password=${password}`;
    await writeFile(join(to, 'postgresql.auto.conf'), `primary_conninfo = '${source}'\n`);
    await cp(join(dirname(from), 'postgres.password'), join(folder, 'postgres.password'));
    const { uid, gid } = await stat(from);
    await promisify(execFile)('chown', ['-R', `${uid}:${gid}`, to]);
  };
  try {
    const standby = await startOwnPostgres({ durability: 'full', ...(within === undefined ? {} : { within }) }, copy);
    await toPrimary.query("alter system set synchronous_standby_names = '*'");
    await toPrimary.query('select pg_reload_conf()');
    const isSynchronous = async (): Promise<boolean> =>
      (await toPrimary.query("select 1 from pg_stat_replication where sync_state in ('sync', 'quorum')")).rowCount ===
      1;
    await until(isSynchronous, 'the standby is synchronous');
    return Object.assign(standby, {
      async promote() {
        const own = new pg.Client(standby.url);
        await own.connect();
        await own.query('select pg_promote()');
        await own.end();
      },
    });
  } finally {
    await toPrimary.end();
  }
}
