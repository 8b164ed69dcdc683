import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { alone } from './alone.mjs';
import { supervise } from './supervise.mjs';

/**
 * Installs the dependencies of the lockfile if node_modules is missing or the manifests have changed. Prints one line to
 * stderr. If the installer fails, shows its output and throws.
 */
export async function ensureInstalled(root) {
  const stamp = join(root, 'node_modules', '.sotto-installed');
  const wanted = fingerprint(root);
  const isInstalled = () => existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted;
  if (isInstalled()) return;
  await alone(root, async () => {
    if (isInstalled()) return;
    await install(root);
    writeFileSync(stamp, wanted);
  });
}

async function install(root) {
  console.error('Installing dependencies (first start only)…');
  const { code, output, isStopped } = await supervise(
    'npx',
    ['-y', 'pnpm@12.21.0', 'install', '--frozen-lockfile', '--prod=false'],
    {
      cwd: root,
      // Without CI, pnpm would ask before it replaces an unusable node_modules, and stop without a terminal.
      env: { ...process.env, CI: 'true' },
      capture: true,
      wholeGroup: true,
      shell: process.platform === 'win32',
    },
  );
  if (isStopped) process.exit(code || 130);
  if (code !== 0) {
    process.stderr.write(output);
    throw new Error(
      'cannot install the dependencies (npx -y pnpm@12.21.0 install --frozen-lockfile); see the output above',
    );
  }
}

/** Returns the SHA-256 (hex) over everything that decides what is installed, including the platform. */
function fingerprint(root) {
  const hash = createHash('sha256').update(`${process.platform}-${process.arch}`);
  for (const file of ['pnpm-lock.yaml', 'pnpm-workspace.yaml', '.pnpmfile.cjs', ...manifests(root)]) {
    hash.update(`\0${file}\0`).update(readFileSync(join(root, file)));
  }
  return hash.digest('hex');
}

/** Returns the package.json files of the workspace, relative to the root, in a fixed order. */
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
