import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { supervise } from './supervise.mjs';

/**
 * Installs the dependencies of the lockfile where node_modules is missing or was made from other manifests. Says so in
 * one line on stderr; what the installer printed is shown only when it fails, and then this throws.
 */
export async function ensureInstalled(root) {
  const stamp = join(root, 'node_modules', '.sotto-installed');
  const wanted = fingerprint(root);
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return;

  console.error('Installing dependencies (first start only)…');
  const { code, output } = await supervise(
    'npx',
    ['-y', 'pnpm@12.21.0', 'install', '--frozen-lockfile', '--prod=false'],
    {
      cwd: root,
      // Without a terminal pnpm asks before it replaces a node_modules it cannot use, and stops; with CI it goes on.
      env: { ...process.env, CI: 'true' },
      capture: true,
      wholeGroup: true,
      shell: process.platform === 'win32',
    },
  );
  if (code > 128) process.exit(code); // interrupted, not failed
  if (code !== 0) {
    process.stderr.write(output);
    throw new Error('installing the dependencies failed (npx -y pnpm@12.21.0 install --frozen-lockfile), see above');
  }
  writeFileSync(stamp, wanted);
}

/** SHA-256 (hex) over everything that decides what gets installed, the machine's kind included. */
function fingerprint(root) {
  const hash = createHash('sha256').update(`${process.platform}-${process.arch}`);
  for (const file of ['pnpm-lock.yaml', 'pnpm-workspace.yaml', '.pnpmfile.cjs', ...manifests(root)]) {
    hash.update(`\0${file}\0`).update(readFileSync(join(root, file)));
  }
  return hash.digest('hex');
}

/** The package.json files of the workspace, relative to the root, in a fixed order. */
function manifests(root) {
  const list = /^packages:\n((?:[ \t]+-.*\n)+)/m.exec(readFileSync(join(root, 'pnpm-workspace.yaml'), 'utf8'));
  const patterns = [...(list?.[1] ?? '').matchAll(/-\s*['"]?([^\s'"]+)/g)].map(([, pattern]) => pattern);
  const folders = patterns.flatMap((pattern) => {
    if (!pattern.endsWith('/*')) return [pattern];
    const parent = pattern.slice(0, -2);
    return existsSync(join(root, parent)) ? readdirSync(join(root, parent)).map((name) => `${parent}/${name}`) : [];
  });
  return ['package.json', ...folders.map((folder) => `${folder}/package.json`).sort()].filter((file) =>
    existsSync(join(root, file)),
  );
}
