import { relative } from 'node:path';
import type { Reporter, TestModule } from 'vitest/node';

const slowestShown = 10;

/** Ends a run with the slowest files, its total time, and one plain line that any tool can read: how many tests passed, failed and were skipped. */
class SummaryReporter implements Reporter {
  #startedAt = 0;

  onTestRunStart(): void {
    this.#startedAt = performance.now();
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    const counts = { passed: 0, failed: 0, skipped: 0, pending: 0 };
    for (const module of modules) {
      for (const test of module.children.allTests()) counts[test.result().state] += 1;
      // A suite whose preparation failed has no failed test of its own.
      const broken = [module, ...module.children.allSuites()].filter((suite) => suite.errors().length > 0);
      counts.failed += broken.length;
    }
    const minutes = (performance.now() - this.#startedAt) / 60_000;
    // After vitest's own summary, which is printed in this turn too.
    setImmediate(() => {
      if (modules.length > slowestShown) console.log(`\nThe slowest files:\n${slowest(modules).join('\n')}`);
      console.log(`\n${modules.length} files in ${minutes.toFixed(1)} minutes`);
      console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped + counts.pending} skipped`);
    });
  }
}

function slowest(modules: readonly TestModule[]): string[] {
  const timed = modules.map((module) => {
    const { collectDuration, duration } = module.diagnostic();
    return { file: relative(process.cwd(), module.moduleId), seconds: (collectDuration + duration) / 1000 };
  });
  return timed
    .sort((a, b) => b.seconds - a.seconds)
    .slice(0, slowestShown)
    .map(({ file, seconds }) => `${seconds.toFixed(0).padStart(5)} s  ${file}`);
}

// biome-ignore lint/style/noDefaultExport: vitest loads a reporter by its default export
export default SummaryReporter;
