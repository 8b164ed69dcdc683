/** What became of a test file's runs on a busy machine. */
export interface Runs {
  /** Digest of the file. Runs of an older text do not count. */
  readonly text: string;
  readonly passed: number;
  readonly failed: number;
  /** The names of the tests that failed, each with the first line of its error. */
  readonly failures: readonly string[];
}

/** How often a file runs, and how often if it failed once. */
const enough = 5;
const enoughOnceFailed = 20;

/** How many runs a file still needs. */
export function missingRuns(runs: Runs | undefined, text: string): number {
  if (runs === undefined || runs.text !== text) return enough;
  return Math.max(0, (runs.failed > 0 ? enoughOnceFailed : enough) - runs.passed - runs.failed);
}

/** The part of vitest's JSON report that is read. */
export interface FileReport {
  /** Absolute path. */
  readonly name: string;
  readonly status: string;
  readonly message?: string;
  readonly assertionResults: readonly {
    readonly status: string;
    readonly fullName: string;
    readonly failureMessages?: readonly string[];
  }[];
}

/** Adds one run of a file to those before. */
export function withRun(before: Runs | undefined, text: string, report: FileReport): Runs {
  const runs = before?.text === text ? before : { text, passed: 0, failed: 0, failures: [] };
  if (report.status === 'passed') return { ...runs, passed: runs.passed + 1 };
  const firstLine = (message = ''): string => message.split('\n', 1)[0] ?? '';
  const failed = report.assertionResults
    .filter(({ status }) => status === 'failed')
    .map(({ fullName, failureMessages }) => `${fullName}: ${firstLine(failureMessages?.[0])}`);
  const said = failed.length > 0 ? failed : [firstLine(report.message)];
  return { ...runs, failed: runs.failed + 1, failures: [...new Set([...runs.failures, ...said])] };
}
