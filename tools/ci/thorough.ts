/**
 * Prints the thorough test files that `.ci/run` runs after `npm test`, one on each line, and why to stderr. `SOTTO_CI_BASE` names the
 * commit before the landing; without it, the last 20 commits are the landing.
 */
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { thorough } from '../../test/thorough.ts';
import { choose } from './choose.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const git = (...args: readonly string[]): string[] =>
  execFileSync('git', args, { cwd: root, encoding: 'utf8', maxBuffer: 2 ** 26 })
    .split('\n')
    .filter((line) => line !== '');

const commits = Number(git('rev-list', '--count', 'HEAD')[0]);
const [first] = git('rev-list', '--max-count=21', 'HEAD').slice(-1);
const base = process.env.SOTTO_CI_BASE || first || 'HEAD';
const changed = git('diff', '--name-only', base, 'HEAD');
const { named, due } = choose(thorough, { files: git('ls-files'), changed, commits });
process.stderr.write(
  `\nThe landing since ${base.slice(0, 12)} changed ${changed.length} files. Thorough files for them:\n`,
);
process.stderr.write(`${named.map((file) => `  ${file}`).join('\n') || '  none'}\n`);
process.stderr.write(
  `After ${commits} commits it is the turn of:\n${due.map((file) => `  ${file}`).join('\n') || '  none'}\n\n`,
);
process.stdout.write([...named, ...due].map((file) => `${file}\n`).join(''));
