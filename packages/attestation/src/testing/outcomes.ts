import type { Check } from '../verdict.ts';

/** The names of the checks that failed. */
export function failed(checks: readonly Check[]): string[] {
  return checks.filter(({ outcome }) => outcome === 'failed').map(({ name }) => name);
}

/** The names of the skipped checks (`not_made`). */
export function notMade(checks: readonly Check[]): string[] {
  return checks.filter(({ outcome }) => outcome === 'not_made').map(({ name }) => name);
}

/** Why a check did not pass. Empty if it did. */
export function reasonOf(checks: readonly Check[], name: string): string {
  const check = checks.find((candidate) => candidate.name === name);
  return check !== undefined && check.outcome !== 'passed' ? check.reason : '';
}
