import { randomBytes } from 'node:crypto';
import { chown, mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Account } from './placement.ts';
import { runProgram } from './programs.ts';

/** The cluster to have: see `PostgresOptions`. */
export interface ClusterOptions {
  readonly dataDir: string;
  readonly account: Account | undefined;
  readonly programs: string;
  readonly durability: 'full' | 'fast';
}

/**
 * Makes the cluster on first use: UTF-8, locale C, user and database `sotto`, a random password. Resolves to the
 * password. Rejects where a cluster is there that is not ours to open, or whose password is lost.
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
    throw new Error(`the database in ${dataDir} belongs to another account: it was made by a start as root`);
  }
}

async function createPassword(file: string, account: Account | undefined): Promise<void> {
  try {
    await writeFile(file, randomBytes(24).toString('base64url'), { mode: 0o600, flag: 'wx' });
    // initdb reads it, and the cluster it guards is that account's anyway.
    if (account) await chown(file, account.uid, account.gid);
  } catch (error) {
    // Left by a first start that was cut short; the cluster will be made with it.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

/** Made under another name and renamed when complete, so that a start cut short leaves no half of a cluster. */
async function createCluster({ dataDir, account, programs, durability }: ClusterOptions, passwordFile: string) {
  const folder = dirname(dataDir);
  const stagingPrefix = `${basename(dataDir)}.new-`;
  for (const name of await readdir(folder)) {
    if (name.startsWith(stagingPrefix)) await rm(join(folder, name), { recursive: true, force: true });
  }
  const staging = join(folder, `${stagingPrefix}${process.pid}`);
  await mkdir(staging, { mode: 0o700 });
  if (account) await chown(staging, account.uid, account.gid);

  const initdb = ['-D', staging, '-U', 'sotto', `--pwfile=${passwordFile}`, '-A', 'scram-sha-256', '-E', 'UTF8'];
  const unsynced = durability === 'fast' ? ['--no-sync'] : [];
  await runProgram(join(programs, 'bin', 'initdb'), [...initdb, '--locale=C', ...unsynced], { account });

  // In single-user mode, where no client library and no port is needed. An error in a statement is only printed.
  const single = ['--single', '-D', staging, '-c', `fsync=${durability === 'fast' ? 'off' : 'on'}`, 'postgres'];
  const output = await runProgram(join(programs, 'bin', 'postgres'), single, {
    account,
    input: 'CREATE DATABASE sotto\n',
  });
  if (output.includes('ERROR:')) throw new Error(`creating the database failed: ${output.trim()}`);

  await rename(staging, dataDir);
}
