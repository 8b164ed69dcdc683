import { delimiter, join, sep } from 'node:path';

/**
 * The PATH without what npm puts first: `node_modules/.bin` of the project and of each folder above it, then `node-gyp-bin`. The user's
 * own folders of that name stay.
 */
export function pathBeforeNpm(root, path) {
  const folders = path.split(delimiter);
  const last = folders.findIndex((folder) => /[\\/]node-gyp-bin$/.test(folder));
  const isOfNpm = (folder) => (root + sep).startsWith(join(folder, '..', '..', sep));
  return last !== -1 && folders.slice(0, last).every(isOfNpm) ? folders.slice(last + 1).join(delimiter) : path;
}
