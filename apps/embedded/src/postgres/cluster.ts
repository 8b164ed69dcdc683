import { randomBytes } from 'node:crypto';
import { chown, link, mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { kill } from './orphan.ts';
import type { Account } from './placement.ts';
import { runProgram } from './programs.ts';

/** Options of a cluster. See `PostgresOptions`. */
export interface ClusterOptions {
  readonly dataDir: string;
  readonly account: Account | undefined;
  readonly programs: string;
  readonly durability: 'full' | 'fast';
}

/**
 * Creates the cluster on first use: UTF-8, locale C, user and database `sotto`, a random password. Resolves to the password.
 * Rejects if an existing cluster belongs to someone else or its password is lost.
 */
export async function ensureCluster(options: ClusterOptions): Promise<string> {
  const { dataDir } = options;
  const passwordFile = join(dirname(dataDir), 'postgres.password');
  if (!(await isCluster(dataDir))) {
    await createPassword(passwordFile, options.account);
    await createCluster(options, passwordFile);
  }
  return (await readFile(passwordFile, 'utf8')).trim();
}

async function isCluster(dataDir: string): Promise<boolean> {
  try {
    await stat(join(dataDir, 'PG_VERSION'));
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return false;
    if (code !== 'EACCES') throw error;
    throw new Error(
      `the database in ${dataDir} belongs to another account, because root started Sotto before. Start as root again, or set another SOTTO_DATA_DIR`,
    );
  }
}

async function createPassword(file: string, account: Account | undefined): Promise<void> {
  // Linked once it is on the disk, so that neither a kill nor a power failure leaves an empty file. The name is new: a
  // killed start may have linked its own.
  const written = `${file}.${randomBytes(12).toString('hex')}`;
  await writeFile(written, randomBytes(24).toString('base64url'), { mode: 0o600, flag: 'wx', flush: true });
  try {
    await link(written, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    // An interrupted first start left the password. The cluster will use it.
  } finally {
    await rm(written, { force: true });
  }
  // initdb reads the password file, and its account owns the cluster. A start that was interrupted here left it to root.
  if (account) await chown(file, account.uid, account.gid);
}

/**
 * Creates the cluster under another name and renames it, so that an interrupted start leaves no partial cluster. If another
 * process was quicker, its cluster stays.
 */
async function createCluster({ dataDir, account, programs, durability }: ClusterOptions, passwordFile: string) {
  const folder = dirname(dataDir);
  const stagingPrefix = `${basename(dataDir)}.new-`;
  for (const name of await readdir(folder)) {
    if (!name.startsWith(stagingPrefix)) continue;
    const pid = Number(name.slice(stagingPrefix.length));
    const isOthers = pid !== process.pid && kill(pid, 0);
    if (!isOthers) await rm(join(folder, name), { recursive: true, force: true });
  }
  const staging = join(folder, `${stagingPrefix}${process.pid}`);
  await mkdir(staging, { mode: 0o700 });
  if (account) await chown(staging, account.uid, account.gid);

  const initdb = ['-D', staging, '-U', 'sotto', `--pwfile=${passwordFile}`, '-A', 'scram-sha-256', '-E', 'UTF8'];
  const unsynced = durability === 'fast' ? ['--no-sync'] : [];
  await runProgram(join(programs, 'bin', 'initdb'), [...initdb, '--locale=C', ...unsynced], { account });

  // Single-user mode needs no client library and no port. It only prints errors of statements.
  const single = ['--single', '-D', staging, '-c', `fsync=${durability === 'fast' ? 'off' : 'on'}`, 'postgres'];
  const output = await runProgram(join(programs, 'bin', 'postgres'), single, {
    account,
    input: 'CREATE DATABASE sotto\n',
  });
  if (output.includes('ERROR:')) throw new Error(`cannot create the database: ${output.trim()}`);

  try {
    await rename(staging, dataDir);
  } catch (error) {
    await rm(staging, { recursive: true, force: true });
    if (!(await isCluster(dataDir))) throw error;
  }
}
