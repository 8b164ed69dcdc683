import { type AttemptEnd, measureAttempt, type Route } from '@sotto/router';
import type { InferenceDependencies } from './deps.ts';
import type { Serving } from './serving.ts';

/** Counts what an attempt shows about its route, if anything. Of a quiet request, only whether it succeeded. */
export function measure(
  { measurements }: Pick<InferenceDependencies, 'measurements'>,
  { id }: Route,
  end: AttemptEnd,
  { admission }: Pick<Serving, 'admission'>,
): void {
  const measured = measureAttempt(end);
  if (measured !== undefined) measurements.add(id, admission.isQuiet ? { success: measured.success } : measured);
}
