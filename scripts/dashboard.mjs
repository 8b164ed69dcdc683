import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { supervise } from './supervise.mjs';

/** What the page is made from, relative to the root. */
const sources = [
  'apps/dashboard',
  'packages/client/src',
  'packages/attestation/src',
  'packages/money/src',
  'packages/wire/src',
  'pnpm-lock.yaml',
];
const notSources = new Set(['node_modules', 'built', 'built.next', 'dist']);

/**
 * Builds the dashboard into `apps/dashboard/built` where that is missing or was made from other sources, each file with
 * its compressed twins. Says so in one line on stderr; what the bundler printed is shown only when it fails, and then
 * this throws.
 */
export async function ensureDashboard({ root, node }) {
  const app = join(root, 'apps/dashboard');
  const built = join(app, 'built');
  const stamp = join(built, '.sources');
  const wanted = fingerprint(root);
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return;

  console.error('Building the dashboard…');
  const next = join(app, 'built.next');
  const { code, output } = await supervise(node, ['node_modules/vite/bin/vite.js', 'build'], {
    cwd: app,
    env: { ...process.env, NODE_ENV: 'production', SOTTO_DASHBOARD_OUT: next },
    capture: true,
    wholeGroup: true,
  });
  if (code > 128) process.exit(code); // interrupted, not failed
  if (code !== 0) {
    process.stderr.write(output);
    throw new Error('building the dashboard failed, see above');
  }
  compress(next);
  writeFileSync(join(next, '.sources'), wanted);
  rmSync(built, { recursive: true, force: true });
  renameSync(next, built);
}

/** Writes `.br` and `.gz` beside what is worth it; the page itself is made anew for each answer. */
function compress(folder) {
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    if (!/\.(?:js|css|svg)$/.test(name)) continue;
    const file = join(folder, name);
    const bytes = readFileSync(file);
    writeFileSync(`${file}.br`, brotliCompressSync(bytes));
    writeFileSync(`${file}.gz`, gzipSync(bytes, { level: 9 }));
  }
}

/** SHA-256 (hex) over all sources, names and contents. */
function fingerprint(root) {
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
