import { writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import type { Reporter, TestCase, TestModule } from 'vitest/node';
import { allowedSkips } from '../allowed-skips.ts';
import { topologyTitles } from './topologies.ts';

const slowestShown = 10;

/**
 * Ends a run with the slowest files, the tests of each topology and its total time. One plain line for any tool counts passed,
 * failed and skipped tests. Writes the seconds and tests of every file to the file that `SOTTO_TEST_REPORT` names. If `SOTTO_FAIL_SKIPS` is `1`, a
 * skipped test that `allowedSkips` does not name fails the run. Writes the paths of the files that failed to the file that `SOTTO_TEST_FAILED` names.
 */
class SummaryReporter implements Reporter {
  #startedAt = 0;

  onTestRunStart(): void {
    this.#startedAt = performance.now();
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    const counts = { passed: 0, failed: 0, skipped: 0, pending: 0 };
    for (const module of modules) {
      for (const test of module.children.allTests()) counts[test.result().state] += 1;
      // A suite whose setup failed may have no failed test, so it counts as one.
      const broken = [module, ...module.children.allSuites()].filter((suite) => suite.errors().length > 0);
      counts.failed += broken.length;
    }
    const times = timesOf(modules);
    const counted = topologies(modules).join('\n');
    const reportTo = process.env.SOTTO_TEST_REPORT;
    if (reportTo) writeFileSync(reportTo, `${times.map(reportLine).join('\n')}\n\n${counted}\n`);
    const failedTo = process.env.SOTTO_TEST_FAILED;
    if (failedTo)
      writeFileSync(
        failedTo,
        modules
          .filter((module) => !module.ok())
          .map((module) => `${pathOf(module)}\n`)
          .join(''),
      );
    const minutes = (performance.now() - this.#startedAt) / 60_000;
    // Runs after vitest's own summary, which is printed in the same turn.
    setImmediate(() => {
      if (modules.length > slowestShown) {
        console.log(`\nThe slowest files:\n${times.slice(0, slowestShown).map(line).join('\n')}\n\n${counted}`);
      }
      if (process.env.SOTTO_FAIL_SKIPS === '1') failAtSkips(modules);
      console.log(`\n${modules.length} files in ${minutes.toFixed(1)} minutes`);
      console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped + counts.pending} skipped`);
    });
  }
}

/** Names the tests that were skipped without a reason that is known, and fails the run. */
function failAtSkips(modules: readonly TestModule[]): void {
  const unknown = modules
    .filter((module) => !allowedSkips.some(({ file }) => file === pathOf(module)))
    .flatMap((module) =>
      [...module.children.allTests('skipped')].map(({ fullName }) => `${pathOf(module)} > ${fullName}`),
    );
  if (unknown.length === 0) return;
  console.log(
    `\nSkipped, and test/allowed-skips.ts does not say why:\n${unknown.map((test) => `  ${test}`).join('\n')}`,
  );
  process.exitCode = 1;
}

const pathOf = (module: TestModule): string => relative(process.cwd(), module.moduleId);

interface FileTimes {
  readonly file: string;
  readonly seconds: number;
  readonly tests: number;
}

/** Returns the seconds and the tests of each file, slowest first. */
const timesOf = (modules: readonly TestModule[]): FileTimes[] =>
  modules
    .map((module) => {
      const { collectDuration, duration } = module.diagnostic();
      const seconds = (collectDuration + duration) / 1000;
      return { file: pathOf(module), seconds, tests: [...module.children.allTests()].length };
    })
    .sort((a, b) => b.seconds - a.seconds);

const line = ({ file, seconds }: FileTimes): string => `${seconds.toFixed(0).padStart(5)} s  ${file}`;
const reportLine = (times: FileTimes): string => `${line(times)} (${times.tests} tests)`;

/** Counts the tests that ran in each topology, and how many of them had run in another one before. */
function topologies(modules: readonly TestModule[]): string[] {
  const counts = new Map(Object.values(topologyTitles).map((title) => [title, { tests: 0, repeated: 0 }]));
  for (const module of modules) {
    const seen = new Set<string>();
    for (const test of module.children.allTests()) {
      const title = [...counts.keys()].find((each) => test.fullName.includes(` (${each})`));
      const count = title === undefined ? undefined : counts.get(title);
      if (count === undefined || !hasRun(test)) continue;
      const name = test.fullName.replace(` (${title})`, '');
      count.tests += 1;
      if (seen.has(name)) count.repeated += 1;
      seen.add(name);
    }
  }
  return [...counts].map(
    ([title, { tests, repeated }]) => `${`${tests}`.padStart(5)} tests as ${title}, ${repeated} of them repeated`,
  );
}

const hasRun = (test: TestCase): boolean => ['passed', 'failed'].includes(test.result().state);

// biome-ignore lint/style/noDefaultExport: vitest loads a reporter by its default export
export default SummaryReporter;
