import type { Reporter, TestModule } from 'vitest/node';

/** Ends a run with one plain line that any tool can read: how many tests passed, failed and were skipped. */
class SummaryReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const counts = { passed: 0, failed: 0, skipped: 0, pending: 0 };
    for (const module of modules) {
      for (const test of module.children.allTests()) counts[test.result().state] += 1;
      // A suite whose preparation failed has no failed test of its own.
      const broken = [module, ...module.children.allSuites()].filter((suite) => suite.errors().length > 0);
      counts.failed += broken.length;
    }
    // After vitest's own summary, which is printed in this turn too.
    setImmediate(() =>
      console.log(`\n${counts.passed} passed, ${counts.failed} failed, ${counts.skipped + counts.pending} skipped`),
    );
  }
}

// biome-ignore lint/style/noDefaultExport: vitest loads a reporter by its default export
export default SummaryReporter;
