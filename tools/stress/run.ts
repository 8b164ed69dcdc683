/**
 * Runs test files again and again while other processes take every core, to find the ones that need an idle machine:
 * `npm run test:stress -- PATH...`.
 *
 * Each file runs five times; one that failed runs twenty times. `results.json` keeps the runs, so that a later call goes on where
 * this one stopped. A file that was changed begins again.
 */
import { execFileSync, fork, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type FileReport, missingRuns, type Runs, withRun } from './record.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const kept = fileURLToPath(new URL('results.json', import.meta.url));
const asked = process.argv.slice(2);
if (asked.length === 0) {
  process.stderr.write('Usage: npm run test:stress -- PATH..., with test files or folders\n');
  process.exit(2);
}

/** Calls `use` with a path in a folder of its own, and reads the JSON that it wrote there. */
function jsonFrom<T>(use: (path: string) => void): T {
  const folder = mkdtempSync(join(tmpdir(), 'sotto-stress-'));
  try {
    use(join(folder, 'out.json'));
    return JSON.parse(readFileSync(join(folder, 'out.json'), 'utf8'));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const listed = jsonFrom<readonly { readonly file: string }[]>((path) => {
  const args = ['node_modules/vitest/vitest.mjs', 'list', '--filesOnly', `--json=${path}`, ...asked];
  execFileSync(process.execPath, args, { cwd: root, stdio: 'ignore' });
});
const files = [...new Set(listed.map(({ file }) => relative(root, file)))].toSorted();
const textOf = (file: string): string =>
  createHash('sha256')
    .update(readFileSync(join(root, file)))
    .digest('hex')
    .slice(0, 16);

const results: Record<string, Runs> = JSON.parse(readFileSync(kept, 'utf8'));
const missing = (): readonly string[] => files.filter((file) => missingRuns(results[file], textOf(file)) > 0);

const runOnce = (chosen: readonly string[]): readonly FileReport[] =>
  jsonFrom<{ readonly testResults: readonly FileReport[] }>((path) => {
    const args = ['scripts/run.mjs', 'test', ...chosen, '--reporter=json', `--outputFile=${path}`];
    spawnSync(process.execPath, args, { cwd: root, stdio: 'ignore' });
  }).testResults;

const burners = Array.from({ length: availableParallelism() }, () =>
  fork(new URL('burner.mjs', import.meta.url), { stdio: 'ignore' }),
);
for (let chosen = missing(); chosen.length > 0; chosen = missing()) {
  const texts = new Map(chosen.map((file) => [file, textOf(file)]));
  for (const report of runOnce(chosen)) {
    const file = relative(root, report.name);
    const text = texts.get(file);
    if (text === undefined) continue;
    results[file] = withRun(results[file], text, report);
    if (report.status !== 'passed') process.stdout.write(`failed  ${file}\n`);
  }
  const sorted = Object.entries(results).toSorted(([a], [b]) => (a < b ? -1 : 1));
  writeFileSync(kept, `${JSON.stringify(Object.fromEntries(sorted), null, 2)}\n`);
  process.stdout.write(`${missing().length} of ${files.length} files need more runs\n`);
}
for (const burner of burners) burner.disconnect();

const unsteady = files.filter((file) => (results[file]?.failed ?? 0) > 0);
for (const file of unsteady) {
  const { passed, failed, failures } = results[file] ?? { passed: 0, failed: 0, failures: [] };
  process.stdout.write(`\n${file} failed ${failed} of ${passed + failed} times\n`);
  for (const failure of failures) process.stdout.write(`  ${failure}\n`);
}
process.stdout.write(`\n${files.length - unsteady.length} of ${files.length} files never failed.\n`);
process.exit(unsteady.length === 0 ? 0 : 1);
