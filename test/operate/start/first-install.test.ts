import { cp, lstat, mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { root } from '../../kit/npm-start.ts';
import { runToEnd } from '../../kit/programs.ts';

/** The first start installs at most this much, in bytes of files. */
const most = 500_000_000;

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sotto-first-'));
});
afterAll(() => rm(folder, { recursive: true }));

/** Counts a file once, however many names it has. */
async function bytesIn(path: string, seen = new Set<number>()): Promise<number> {
  let bytes = 0;
  for (const entry of await readdir(path, { withFileTypes: true })) {
    const inner = join(path, entry.name);
    if (entry.isDirectory()) bytes += await bytesIn(inner, seen);
    else if (entry.isFile()) {
      const { ino, size } = await lstat(inner);
      if (!seen.has(ino)) bytes += size;
      seen.add(ino);
    }
  }
  return bytes;
}

it('the first start installs what the service needs, and no more than it says', async () => {
  const folders = await Promise.all(
    ['packages', 'apps'].map(async (parent) => (await readdir(join(root, parent))).map((name) => `${parent}/${name}`)),
  );
  const manifests = ['test', 'tools', ...folders.flat()].map((path) => `${path}/package.json`);
  const files = ['package.json', 'pnpm-lock.yaml', 'pnpm-workspace.yaml', '.pnpmfile.cjs', 'scripts', ...manifests];
  for (const path of files) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await cp(join(root, path), join(folder, path), { recursive: true });
  }
  // The control plane's sources are not there, so the command ends once everything is installed.
  const { error } = await runToEnd(process.execPath, ['scripts/run.mjs', 'control'], folder, {
    ...(process.env as Record<string, string>),
  });
  const said = /the dependencies of the service, about (\d+) MB .*Installed in \d+ s\./s.exec(error);
  expect(said, error).not.toBeNull();
  const bytes = await bytesIn(join(folder, 'node_modules'));
  expect(bytes).toBeLessThan(most);
  expect(Math.abs(bytes / 1e6 - Number(said?.[1]))).toBeLessThan(30);
}, 300_000);
