/** What became of a mutant. `unclear`: its tests failed, but no assertion says why, or they did not run. */
export type Verdict = { readonly kind: 'killed'; readonly by: string } | { readonly kind: 'survived' | 'unclear' };

interface Report {
  readonly numTotalTests: number;
  readonly success: boolean;
  readonly testResults: readonly {
    readonly assertionResults: readonly {
      readonly status: string;
      readonly fullName: string;
      readonly failureMessages?: readonly string[];
    }[];
  }[];
}

/**
 * An assertion (one about a rejected promise is an `Error`), a property that an input contradicts, or `until`, which names what did not come. Another timeout or an
 * exception shows no broken promise.
 */
const isPromise = (message: string): boolean =>
  /AssertionError|^Error: expected |Property failed|not within \d+ ms: /.test(message);

/** Reads a report of vitest's reporter `json`. */
export function verdictOf(text: string): Verdict {
  let report: Report;
  try {
    report = JSON.parse(text);
  } catch {
    return { kind: 'unclear' };
  }
  const failed = report.testResults
    .flatMap(({ assertionResults }) => assertionResults)
    .find(({ status, failureMessages = [] }) => status === 'failed' && failureMessages.some(isPromise));
  if (failed !== undefined) return { kind: 'killed', by: failed.fullName };
  return { kind: report.success && report.numTotalTests > 0 ? 'survived' : 'unclear' };
}
