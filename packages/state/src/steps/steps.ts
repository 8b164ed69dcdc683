import { admissionSteps } from './admission-steps.ts';
import { epochSteps } from './epoch-steps.ts';
import { projectionSteps } from './projection-steps.ts';
import type { Steps } from './step.ts';

/** Every step on the shared state. The drivers have their methods from these rows. */
export const steps: Steps = { ...admissionSteps, ...projectionSteps, ...epochSteps };
