import { writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import type { Reporter, TestModule } from 'vitest/node';

const slowestShown = 10;

/**
 * Ends a run with the slowest files and its total time. One plain line for any tool counts passed, failed and skipped
 * tests. Writes the files that failed to the file that `SOTTO_TEST_FAILED` names, one on each line.
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
      if (modules.length > slowestShown) console.log(`\nThe slowest files:\n${slowest(modules).join('\n')}`);
      console.log(`\n${modules.length} files in ${minutes.toFixed(1)} minutes`);
      console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped + counts.pending} skipped`);
    });
  }
}

const pathOf = (module: TestModule): string => relative(process.cwd(), module.moduleId);

function slowest(modules: readonly TestModule[]): string[] {
  const timed = modules.map((module) => {
    const { collectDuration, duration } = module.diagnostic();
    return { file: pathOf(module), seconds: (collectDuration + duration) / 1000 };
  });
  return timed
    .sort((a, b) => b.seconds - a.seconds)
    .slice(0, slowestShown)
    .map(({ file, seconds }) => `${seconds.toFixed(0).padStart(5)} s  ${file}`);
}

// biome-ignore lint/style/noDefaultExport: vitest loads a reporter by its default export
export default SummaryReporter;
