import { randomBytes } from 'node:crypto';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import pg from 'pg';
import { startPostgres } from '../../apps/embedded/src/postgres/index.ts';
import { dieTogether } from './die-together.ts';

/** Makes databases for tests. */
export interface TestPostgres {
  /** Makes an empty database and resolves to its URL. It goes with the server, or at `stop()`. */
  createDatabase(): Promise<string>;
  stop(): Promise<void>;
}

/** A server of one test file. */
export interface OwnPostgres extends TestPostgres {
  /** URL of a database that is there already. */
  readonly url: string;
  readonly port: number;
  readonly dataDir: string;
  /** Of the present process; changes at `restart()`. */
  readonly pid: number;
  /** Kills the server as the kernel would, and resolves when it is gone. */
  kill9(): Promise<void>;
  /** Stops the server if need be and starts it on the same port and data. */
  restart(): Promise<void>;
}

export interface OwnPostgresOptions {
  /** `full` where a test is about what survives; `fast`, the default, otherwise. */
  readonly durability?: 'full' | 'fast';
  readonly maxConnections?: number;
  /** Where a server of ours keeps its data; default: the machine's temporary folder. */
  readonly within?: string;
}

/** Names the variable with the URL of the PostgreSQL that a run of tests shares. */
export const sharedPostgresVariable = 'SOTTO_TEST_SHARED_POSTGRES';

/** The PostgreSQL that a run of tests shares (`shared-servers.ts`), or a server where nothing is shared, as in a bench. */
export async function startTestPostgres(): Promise<TestPostgres> {
  const url = process.env[sharedPostgresVariable];
  if (url === undefined) return startOwnPostgres();
  const names: string[] = [];
  return {
    createDatabase: () => createDatabase(url, names),
    stop: async () => {
      for (const name of names.splice(0)) await execute(url, `drop database if exists ${name} with (force)`);
    },
  };
}

/**
 * A private server in a temporary folder: for tests that break it.
 *
 * @param prepare - Is given the folder in which the cluster will be, as `postgres`, before there is one.
 */
export async function startOwnPostgres(
  { durability = 'fast', maxConnections = 100, within = tmpdir() }: OwnPostgresOptions = {},
  prepare: (folder: string) => Promise<void> = async () => {},
): Promise<OwnPostgres> {
  const folder = await mkdtemp(join(within, 'sotto-test-postgres-'));
  // Started by root, the server runs as `nobody`, who has to pass here.
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
