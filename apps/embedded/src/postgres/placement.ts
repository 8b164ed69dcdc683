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

/** Directory for root's clusters and programs that cannot stay in the project. */
export const shelter = '/var/lib/sotto';

const nobody: Account = { uid: 65534, gid: 65534 };

/**
 * Returns the place of the cluster for `dataDir` (absolute), and the account that owns it. Undefined means the current account.
 *
 * If root starts it, the server runs as `nobody`, which needs access to every folder on the path, because initdb and the server
 * use absolute paths. A project under a closed folder (root's home, a data directory of mode 0700) therefore has its cluster under
 * `/var/lib/sotto`, named by a hash of `dataDir`. It is not in the temporary folder, which may be emptied. An existing cluster is
 * always used where it is, as its owner. Otherwise a later change of permissions would replace a full database by an empty one.
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

/** Creates a folder of root's at or below `shelter` that other accounts may enter, despite the umask. Private files have their own modes. */
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

/** Tries to enter, because modes do not tell of access lists and mounts. */
async function canEnter(folder: string, account: Account): Promise<boolean> {
  return promisify(execFile)('/bin/sh', ['-c', 'cd -- "$1"', 'sh', folder], { ...account, cwd: '/' }).then(
    () => true,
    () => false,
  );
}
