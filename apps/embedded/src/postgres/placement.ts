import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmod, mkdir, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

/** The account that the programs run under. PostgreSQL refuses root. */
export interface Account {
  readonly uid: number;
  readonly gid: number;
}

/** Where root's clusters and programs go when they cannot stay in the project. */
export const shelter = '/var/lib/sotto';

const nobody: Account = { uid: 65534, gid: 65534 };

/**
 * Where the cluster asked for at `dataDir` (absolute) is or will be, and the account that owns it: undefined for our own.
 *
 * Started by root, the server runs as `nobody`, who must reach the cluster from the root folder on; no working directory
 * or open handle helps, since initdb and the server go by absolute names. A project under a closed folder (root's home,
 * a data directory of mode 0700) therefore has its cluster under `/var/lib/sotto`, by a hash of the place asked for: it
 * must outlive the process and the machine's temporary folder. A cluster that exists is used wherever it is, as its
 * owner: permissions that change later must not make an empty database appear in the place of a full one.
 */
export async function placeCluster(dataDir: string): Promise<{ dataDir: string; account: Account | undefined }> {
  if (process.getuid?.() !== 0) {
    await mkdir(dirname(dataDir), { recursive: true });
    return { dataDir, account: undefined };
  }

  const owner = await clusterOwner(dataDir);
  if (owner) return { dataDir, account: owner };

  const sheltered = shelteredPlace(dataDir);
  if (!(await clusterOwner(sheltered))) {
    await mkdir(dirname(dataDir), { recursive: true });
    if (await canEnter(dirname(dataDir), nobody)) return { dataDir, account: nobody };
    await openFolder(dirname(sheltered));
    await writeFile(join(dirname(sheltered), 'belongs-to'), `${dataDir}\n`);
  }
  return { dataDir: sheltered, account: nobody };
}

/** A folder of root's below or at `shelter` that others may enter, whatever our umask; what is private in it says so. */
export async function openFolder(folder: string): Promise<void> {
  for (const each of new Set([shelter, folder])) {
    await mkdir(each, { recursive: true });
    await chmod(each, 0o755);
  }
}

function shelteredPlace(dataDir: string): string {
  const hash = createHash('sha256').update(dataDir).digest('hex').slice(0, 16);
  return join(shelter, hash, 'postgres');
}

async function clusterOwner(dataDir: string): Promise<Account | undefined> {
  try {
    const { uid, gid } = await stat(join(dataDir, 'PG_VERSION'));
    return { uid, gid };
  } catch {
    return undefined;
  }
}

/** Tried, not computed from modes: access lists and mounts have a say too. */
async function canEnter(folder: string, account: Account): Promise<boolean> {
  return promisify(execFile)('/bin/sh', ['-c', 'cd -- "$1"', 'sh', folder], { ...account, cwd: '/' }).then(
    () => true,
    () => false,
  );
}
