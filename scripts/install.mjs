import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { alone } from './alone.mjs';
import { supervise } from './supervise.mjs';

/**
 * The parts that can be installed: all packages, or those that the service and the client need to run, with the tools that build the
 * dashboard (its optional dependencies). A test holds `start` to its size.
 */
const parts = {
  all: { args: ['--prod=false'], said: 'all dependencies, about 1.2 GB' },
  start: {
    // `--filter-prod` follows no package that only tests need.
    args: ['--prod', '--filter', '.', '--filter-prod', '@sotto/embedded...', '--filter-prod', '@sotto/dashboard...'],
    said: 'the dependencies of the service, about 470 MB',
  },
};

/**
 * Installs the dependencies of the lockfile if they are missing or the manifests have changed: those of `part`, or all once all were
 * installed. Prints its progress to stderr. If the installer fails, shows its output and throws.
 */
export async function ensureInstalled(root, part) {
  const stamp = join(root, 'node_modules', '.sotto-installed');
  const wanted = fingerprint(root);
  const installed = () => (existsSync(stamp) ? readFileSync(stamp, 'utf8').split(' ') : []);
  const isInstalled = () => {
    const [what, of] = installed();
    return of === wanted && (what === 'all' || what === part);
  };
  if (isInstalled()) return;
  await alone(root, async () => {
    if (isInstalled()) return;
    const what = installed()[0] === 'all' ? 'all' : part;
    await install(root, parts[what]);
    writeFileSync(stamp, `${what} ${wanted}`);
  });
}

async function install(root, { args, said }) {
  console.error(`Installing ${said} (first start only)…`);
  const progress = showProgress();
  const { code, output, isStopped } = await supervise(
    'npx',
    ['-y', 'pnpm@12.21.0', 'install', '--frozen-lockfile', ...args],
    {
      cwd: root,
      // Without CI, pnpm would ask before it replaces an unusable node_modules, and stop without a terminal.
      env: { ...process.env, CI: 'true' },
      capture: true,
      onOutput: progress.read,
      wholeGroup: true,
      shell: process.platform === 'win32',
    },
  );
  progress.end(code === 0);
  if (isStopped) process.exit(code || 130);
  if (code !== 0) {
    process.stderr.write(output);
    throw new Error(
      'cannot install the dependencies (npx -y pnpm@12.21.0 install --frozen-lockfile); see the output above',
    );
  }
}

/** Time between two lines of progress, in ms. */
const PROGRESS_MS = 5000;

/** Counts the packages that pnpm says it has added, for a line every few seconds. */
function showProgress() {
  const startedAt = performance.now();
  let [total, added] = [0, 0];
  const seconds = () => Math.round((performance.now() - startedAt) / 1000);
  const timer = setInterval(() => {
    const count = total === 0 ? '' : `${added} of ${total} packages, `;
    console.error(`  ${count}${seconds()} s`);
  }, PROGRESS_MS);
  return {
    read(text) {
      for (const [, count] of text.matchAll(/^Packages: \+(\d+)/gm)) total += Number(count);
      for (const [, count] of text.matchAll(/\badded (\d+)/g)) added = Number(count);
    },
    end(isDone) {
      clearInterval(timer);
      if (isDone) console.error(`Installed in ${seconds()} s.`);
    },
  };
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
