import { StateUnavailableError } from '@sotto/state';
import { causeOf } from '../database/sql-states.ts';

/** The result of one check. `warning` works, but not as it should in production. */
export interface Finding {
  readonly verdict: 'ok' | 'warning' | 'wrong';
  /** The part that was checked. */
  readonly subject: string;
  /** The result, without any secret. */
  readonly found: string;
  readonly advice?: string | undefined;
}

export const ok = (subject: string, found: string): Finding => ({ verdict: 'ok', subject, found });
export const warning = (subject: string, found: string, advice: string): Finding => ({
  ...{ verdict: 'warning', subject, found, advice },
});
export const wrong = (subject: string, found: string, advice: string): Finding => ({
  ...{ verdict: 'wrong', subject, found, advice },
});

/** Returns the cause, the reason or the name of an error. Its message may contain a URL with a password. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'error';
  if (error instanceof StateUnavailableError) return error.reason;
  return causeOf(error) ?? (error.name === 'Error' ? 'no answer' : error.name);
}

/**
 * The maximum differences between clocks. Redis’ clock decides on tickets and leases; Postgres’ and ours decide on
 * usage and orders.
 */
const warnMs = 2_000;
const failMs = 30_000;

/**
 * Compares another clock with ours. `theirs` was read at some time within the `tookMs` before `ours`. All are in ms.
 */
export function compareClocks(
  subject: string,
  { ours, theirs, tookMs }: { readonly ours: number; readonly theirs: number; readonly tookMs: number },
): Finding {
  const skewMs = Math.max(0, Math.abs(ours - tookMs / 2 - theirs) - tookMs / 2);
  const found = skewMs < 1000 ? 'agrees with ours' : `is ${(skewMs / 1000).toFixed(1)} s from ours`;
  const advice = 'Synchronize the clocks of all machines, with chrony or systemd-timesyncd.';
  if (skewMs > failMs) return wrong(subject, found, advice);
  return skewMs > warnMs ? warning(subject, found, advice) : ok(subject, found);
}
