import { type AttemptEnd, measureAttempt, type Route } from '@sotto/router';
import type { InferenceDependencies } from './deps.ts';

/** Counts what an attempt shows about its route, if anything. */
export function measure(
  { measurements }: Pick<InferenceDependencies, 'measurements'>,
  { id }: Route,
  end: AttemptEnd,
): void {
  const measured = measureAttempt(end);
  if (measured !== undefined) measurements.add(id, measured);
}
