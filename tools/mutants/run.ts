/**
 * Applies the mutants one by one in a clone of the last commit, and tells which ones no test notices.
 *
 * `npm run mutants` runs all that were not seen to die; `npm run mutants -- eligibility merge/ignore` those whose names begin so. It
 * keeps results by the texts that decide them, so a run that was stopped goes on, and a change repeats only what it concerns.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { mutants } from './all.ts';
import { applied, type Mutant } from './mutant.ts';
import { type Verdict, verdictOf } from './verdict.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const folder = join(tmpdir(), `sotto-mutants-${createHash('sha256').update(root).digest('hex').slice(0, 12)}`);
const clone = join(folder, 'clone');
const kept = join(folder, 'results.json');
/** Has the process id of the run that uses the clone. */
const owner = join(folder, 'owner');

/** Two runs in one clone would see each other's mutants. */
function takeClone(): void {
  mkdirSync(folder, { recursive: true });
  const pid = existsSync(owner) ? readFileSync(owner, 'utf8') : '';
  if (pid !== '' && existsSync(`/proc/${pid}`)) {
    process.stderr.write(`Another run goes on, as process ${pid}. Wait for it, or end it.\n`);
    process.exit(2);
  }
  writeFileSync(owner, String(process.pid));
}

/** Brings the clone to the last commit. Returns the commit. */
function prepare(): string {
  const git = (...args: string[]): string => execFileSync('git', ['-C', clone, ...args], { encoding: 'utf8' });
  if (!existsSync(clone)) execFileSync('git', ['clone', '--quiet', '--shared', root, clone]);
  git('fetch', '--quiet', 'origin', 'HEAD');
  git('checkout', '--quiet', '--force', '--detach', 'FETCH_HEAD');
  // Any command of the project installs what it needs.
  execFileSync(process.execPath, ['scripts/run.mjs', 'sotto', '--help'], { cwd: clone, stdio: 'ignore' });
  return git('rev-parse', '--short', 'HEAD').trim();
}

const read = (file: string): string => readFileSync(join(clone, file), 'utf8');

/** Changes if anything that decides the verdict does. */
function keyOf({ file, before, after, tests, only }: Mutant): string {
  const digest = createHash('sha256').update(JSON.stringify([before, after, ...(only === undefined ? [] : [only])]));
  for (const each of [file, ...tests]) digest.update(read(each));
  return digest.digest('hex').slice(0, 24);
}

function judge(mutant: Mutant): Verdict {
  const path = join(clone, mutant.file);
  const text = read(mutant.file);
  const report = join(folder, 'report.json');
  const run = (test: string, ...more: readonly string[]): Verdict => {
    const names = mutant.only === undefined ? [] : ['-t', mutant.only];
    const args = ['scripts/run.mjs', 'test', test, ...names, '--reporter=json', `--outputFile=${report}`, ...more];
    writeFileSync(report, '');
    spawnSync(process.execPath, args, { cwd: clone, env, stdio: 'ignore', timeout: 600_000 });
    return verdictOf(readFileSync(report, 'utf8'));
  };
  writeFileSync(path, applied(mutant, text));
  try {
    const verdicts: Verdict[] = [];
    for (const test of mutant.tests) {
      const first = run(test, '--bail=1');
      // The first test that failed may be one that says nothing of the promise.
      const verdict = first.kind === 'unclear' ? run(test) : first;
      if (verdict.kind === 'killed') return verdict;
      verdicts.push(verdict);
    }
    return verdicts.find(({ kind }) => kind === 'unclear') ?? { kind: 'survived' };
  } finally {
    writeFileSync(path, text);
  }
}

/** Tests run as in `.ci/run`, in every topology that they name. */
const env = { ...process.env, SOTTO_TEST_ALL: '1' };

const asked = process.argv.slice(2);
const chosen = mutants.filter(({ name }) => asked.length === 0 || asked.some((start) => name.startsWith(start)));
if (chosen.length === 0) {
  process.stderr.write(`No mutant begins with ${asked.join(' or ')}.\n`);
  process.exit(2);
}
takeClone();
const commit = prepare();
const results: Record<string, Verdict> = existsSync(kept) ? JSON.parse(readFileSync(kept, 'utf8')) : {};
const alive: string[] = [];
for (const mutant of chosen) {
  const key = keyOf(mutant);
  const verdict = results[key] ?? judge(mutant);
  if (verdict.kind === 'killed') {
    // Only deaths are kept. Whoever lives is judged again, because what its tests import is not part of the key.
    results[key] = verdict;
    writeFileSync(kept, JSON.stringify(results));
    process.stdout.write(`killed    ${mutant.name}: ${verdict.by}\n`);
  } else alive.push(`${verdict.kind.padEnd(9)} ${mutant.name}`);
}
process.stdout.write(
  `\n${chosen.length - alive.length} of ${chosen.length} mutants of ${commit} died.\n${alive.map((line) => `${line}\n`).join('')}`,
);
process.exit(alive.length === 0 ? 0 : 1);
