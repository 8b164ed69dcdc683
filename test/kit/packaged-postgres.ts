import { execFile, execFileSync } from 'node:child_process';
import { chmod, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from '@sotto/test-servers';
import { documentedBlock } from './documented.ts';

const run = promisify(execFile);

export const packagedPostgresSkipReason = 'install Debian’s PostgreSQL (`apt install postgresql`).';

/** A server from the system's packages, because the embedded one lacks `pg_dump`. */
export interface PackagedPostgres {
  /** The folder of `pg_dump` and similar programs. */
  readonly bin: string;
  /** Creates an empty database. Resolves to its URL. */
  createDatabase(name: string): Promise<string>;
  stop(): Promise<void>;
}

/** Returns the folder of the newest packaged programs; undefined if none is installed. */
export async function findPackagedPostgres(): Promise<string | undefined> {
  const versions = await readdir('/usr/lib/postgresql').catch(() => []);
  const newest = versions
    .map(Number)
    .filter(Number.isInteger)
    .sort((a, b) => b - a)[0];
  return newest === undefined ? undefined : `/usr/lib/postgresql/${newest}/bin`;
}

export async function startPackagedPostgres(bin: string): Promise<PackagedPostgres> {
  const folder = await mkdtemp(join(tmpdir(), 'sotto-test-packaged-postgres-'));
  // PostgreSQL does not run as root.
  const isRoot = process.getuid?.() === 0;
  const as = (program: string, ...args: readonly string[]) =>
    isRoot ? run('runuser', ['-u', 'postgres', '--', join(bin, program), ...args]) : run(join(bin, program), args);
  if (isRoot) await run('chown', ['postgres', folder]);
  await chmod(folder, 0o711);
  const data = join(folder, 'data');
  const port = await freePort();
  await as('initdb', '-D', data, '-U', 'sotto', '--auth=trust', '--encoding=UTF8', '--no-instructions');
  const settings = `-p ${port} -k ${folder} -c listen_addresses=127.0.0.1 -c fsync=off`;
  await as('pg_ctl', 'start', '-w', '-D', data, '-l', join(folder, 'log'), '-o', settings);
  const urlOf = (name: string): string => `postgresql://sotto@127.0.0.1:${port}/${name}`;
  return {
    bin,
    async createDatabase(name) {
      await run(join(bin, 'psql'), [urlOf('postgres'), '-qc', `create database ${name}`]);
      return urlOf(name);
    },
    async stop() {
      await as('pg_ctl', 'stop', '-w', '-m', 'fast', '-D', data);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Runs the commands of the guide to backups in a folder, with the programs of a packaged PostgreSQL. */
export function backupGuide(bin: string, folder: string) {
  const run = (name: string, variables: Readonly<Record<string, string>>): void => {
    const env = { PATH: `${bin}:${process.env.PATH}`, ...variables };
    execFileSync('bash', ['-euc', documentedBlock('docs/operate/backup-and-restore.md', name)], { cwd: folder, env });
  };
  return {
    backUp: (databaseUrl: string): void => run('backup', { DATABASE_URL: databaseUrl }),
    restore: (databaseUrl: string): void => run('restore', { NEW_DATABASE_URL: databaseUrl }),
  };
}
