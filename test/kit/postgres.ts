import { execFile } from 'node:child_process';
import { chmod, cp, mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { startPostgres } from '@sotto/embedded/testing';
import { createTestDatabase, dieTogether, type TestPostgres, until } from '@sotto/test-servers';
import pg from 'pg';

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
    createDatabase: () => createMigrated(url),
    createEmptyDatabase: () => createTestDatabase(url),
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

async function createMigrated(url: string): Promise<string> {
  const { migrateDatabase } = await import('./migrate.ts');
  const database = await createTestDatabase(url);
  await migrateDatabase(database);
  return database;
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
