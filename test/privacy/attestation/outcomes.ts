import type { Check } from '@sotto/attestation';

/** The names of the checks that ended so. */
export const outcomes = (checks: readonly Check[], outcome: Check['outcome']): string[] =>
  checks.filter((check) => check.outcome === outcome).map(({ name }) => name);
