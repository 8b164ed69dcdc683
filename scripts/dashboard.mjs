import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { alone } from './alone.mjs';
import { supervise } from './supervise.mjs';

/** Sources of both pages, relative to the root. The dashboard shows the documentation, too. */
const sources = [
  'apps/dashboard',
  'packages/client/src',
  'packages/attestation/src',
  'packages/contract/src',
  'packages/money/src',
  'packages/wire/src',
  'pnpm-lock.yaml',
];
const notSources = new Set(['node_modules', 'built', 'built.next', 'dist']);

/**
 * Builds the dashboard into `apps/dashboard/built`, with a compressed copy of each file, if the build is missing or its
 * sources have changed. Prints one line to stderr. If the bundler fails, shows its output and throws.
 */
export const ensureDashboard = (context) =>
  ensurePage(context, { path: 'apps/dashboard/built', sources: [...sources, 'docs'], buildPage: buildDashboardPage });

/** The same for the page of `sotto playground`, which the client's package holds. */
export const ensurePlayground = (context) =>
  ensurePage(context, { path: 'packages/client/playground', sources, buildPage: buildPlaygroundPage });

async function buildDashboardPage(context, folder) {
  await build(context, { name: 'the dashboard', args: [], folder });
  compress(folder);
}

/** Builds the page of `sotto playground` into a folder. */
export async function buildPlaygroundPage(context, folder) {
  await build(context, { name: 'the playground', args: ['--mode', 'playground'], folder });
  renameSync(join(folder, 'playground.html'), join(folder, 'index.html'));
}

async function ensurePage(context, { path, sources, buildPage }) {
  const { root } = context;
  const built = join(root, path);
  const stamp = join(built, '.sources');
  const wanted = fingerprint(root, sources);
  const isBuilt = () => existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted;
  if (isBuilt()) return;
  await alone(root, async () => {
    if (isBuilt()) return;
    const next = `${built}.next`;
    await buildPage(context, next);
    writeFileSync(join(next, '.sources'), wanted);
    rmSync(built, { recursive: true, force: true });
    renameSync(next, built);
  });
}

async function build({ root, node }, { name, args, folder }) {
  console.error(`Building ${name}…`);
  const { code, output, isStopped } = await supervise(node, ['node_modules/vite/bin/vite.js', 'build', ...args], {
    cwd: join(root, 'apps/dashboard'),
    env: { ...process.env, NODE_ENV: 'production', SOTTO_DASHBOARD_OUT: folder },
    capture: true,
    wholeGroup: true,
  });
  if (isStopped) process.exit(code || 130);
  if (code !== 0) {
    process.stderr.write(output);
    throw new Error(`cannot build ${name}; see the output above`);
  }
}

/** Writes `.br` and `.gz` copies of scripts, styles and icons. The HTML page is generated for each answer. */
function compress(folder) {
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    if (!/\.(?:js|css|svg)$/.test(name)) continue;
    const file = join(folder, name);
    const bytes = readFileSync(file);
    writeFileSync(`${file}.br`, brotliCompressSync(bytes));
    writeFileSync(`${file}.gz`, gzipSync(bytes, { level: 9 }));
  }
}

/** Returns the SHA-256 (hex) over the names and contents of all sources. */
function fingerprint(root, sources) {
  const hash = createHash('sha256');
  const add = (path) => {
    const file = join(root, path);
    const entries = readdirSync(file, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
    for (const entry of entries) {
      if (notSources.has(entry.name) || /\.test\.tsx?$|\.tsbuildinfo$/.test(entry.name)) continue;
      const child = `${path}/${entry.name}`;
      if (entry.isDirectory()) add(child);
      else hash.update(`\0${child}\0`).update(readFileSync(join(root, child)));
    }
  };
  for (const source of sources) {
    if (source.endsWith('.yaml')) hash.update(readFileSync(join(root, source)));
    else add(source);
  }
  return hash.digest('hex');
}
