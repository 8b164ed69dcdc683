import { randomBytes } from 'node:crypto';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { startPostgres } from '@sotto/embedded';
import pg from 'pg';
import { dieTogether } from './die-together.ts';

/** A PostgreSQL server for tests. */
export interface TestPostgres {
  /** URL of a database that tests share; one of their own is better. */
  readonly url: string;
  /** Makes an empty database and resolves to its URL. It goes with the server, or at `stop()`. */
  createDatabase(): Promise<string>;
  /** Kills the server as the kernel would, and resolves when it is gone. Rejects for a server that is not ours. */
  kill9(): Promise<void>;
  /** Stops the server if need be and starts it on the same port and data. Rejects for a server that is not ours. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Starts a private server in a temporary folder, or takes the one of TEST_DATABASE_URL (its user must be allowed to
 * create databases).
 *
 * @param options.durability - `full` where a test is about what survives; `fast`, the default, otherwise.
 */
export async function startTestPostgres(options: TestPostgresOptions = {}): Promise<TestPostgres> {
  const given = process.env.TEST_DATABASE_URL;
  return given ? useGiven(given) : startOwnPostgres(options);
}

export interface TestPostgresOptions {
  readonly durability?: 'full' | 'fast';
  /** Where a server of ours keeps its data; default: the machine's temporary folder. */
  readonly within?: string;
}

/** A server that is a child of ours. */
export interface OwnPostgres extends TestPostgres {
  /** Of the present process; changes at `restart()`. */
  readonly pid: number;
  readonly port: number;
  readonly dataDir: string;
}

function useGiven(url: string): TestPostgres {
  const databases: string[] = [];
  return {
    url,
    createDatabase: () => createDatabase(url, databases),
    kill9: () => refuse('killed'),
    restart: () => refuse('restarted'),
    stop: async () => {
      for (const name of databases.splice(0)) await execute(url, `drop database if exists ${name} with (force)`);
    },
  };
}

async function refuse(what: string): Promise<never> {
  throw new Error(`the server of TEST_DATABASE_URL cannot be ${what}: unset it for this test`);
}

/** @param prepare - Is given the folder in which the cluster will be, as `postgres`, before there is one. */
export async function startOwnPostgres(
  { durability = 'fast', within = tmpdir() }: TestPostgresOptions = {},
  prepare: (folder: string) => Promise<void> = async () => {},
): Promise<OwnPostgres> {
  const folder = await mkdtemp(join(within, 'sotto-test-postgres-'));
  // Started by root, the server runs as `nobody`, who has to pass here.
  await chmod(folder, 0o711);
  await prepare(folder);
  const options = { dataDir: join(folder, 'postgres'), durability };
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
    createDatabase: () => createDatabase(url, []),
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
 * A pool whose connections may break, as they do when their server goes first: `end()` resolves before each connection
 * has said goodbye, and one that breaks without a listener would end the process.
 */
export function openTestPool(url: string): pg.Pool {
  const pool = new pg.Pool({ connectionString: url, max: 5 });
  pool.on('error', () => {});
  pool.on('connect', (client) => client.on('error', () => {}));
  return pool;
}

async function createDatabase(url: string, names: string[]): Promise<string> {
  const name = `test_${randomBytes(8).toString('hex')}`;
  await execute(url, `create database ${name}`);
  names.push(name);
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
